"""What `dialin recipes` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dialin.model.setting import describe
from dialin.recipes.library import PREFIX, PublishedFigures, Recipe, RecipeStudy, ScaleName
from dialin.text import about, command_line, listed, number, wrapped


def in_short(name: str, recipe: Recipe, width: int) -> list[str]:
    """Return a recipe in a few lines: its title, what it compares, where it was published, and how long it takes."""
    source = recipe.source
    minutes = ", ".join(f"{scale} {about(recipe.scales[scale].minutes * 60)}" for scale in ScaleName)
    texts = (recipe.title, recipe.compares, f"{source.author}, {source.publisher}, {source.date}", minutes)
    return [name, *(line for text in texts for line in wrapped(text, width, indent="  ", hanging="    ")), ""]


def in_full(name: str, recipe: Recipe, width: int) -> list[str]:
    """Return a recipe with its source, figures, studies and scales, in lines."""
    return list(_in_full(name, recipe, width))


def _in_full(name: str, recipe: Recipe, width: int) -> Iterator[str]:
    source = recipe.source
    yield from (recipe.title, "")
    yield from _titled("Compares", recipe.compares, width)
    yield from _titled("Published", f"{source.author}, “{source.title}”, {source.publisher}, {source.date}", width)
    yield f"  {source.address}"
    yield ""
    yield from _titled("Result", recipe.finding, width)
    yield from ("", *_titled("Sources", source.read, width), "")
    for row in recipe.figures:
        yield from _figures(row, width)
    yield "Studies"
    for study in recipe.study:
        yield from _study(study, width)
    yield from ("", "Scales")
    for scale in ScaleName:
        size, machine = recipe.scales[scale], recipe.scales[scale].machine
        takes = f"{about(size.minutes * 60)}, {size.disk} of disk, {size.memory} of memory"
        meant = f"for a machine of {machine.cpus} CPUs and {machine.memory}"
        yield from wrapped(f"{scale}: {takes}; {meant}", width, indent="  ", hanging="    ")
        yield from wrapped(" ".join(size.shrunk.split()), width, indent="    ", hanging="    ")
    yield from ("", "Run it:", f"  {command_line('dialin run', f'{PREFIX}{name}')} --scale {'|'.join(ScaleName)}")


def _titled(title: str, text: str, width: int) -> list[str]:
    return [title, *wrapped(" ".join(text.split()), width, indent="  ", hanging="  ")]


def _figures(row: PublishedFigures, width: int) -> Iterator[str]:
    yield from wrapped(f"Published for {row.study}: {row.name}, {row.unit} (from its {row.read_from})", width, hanging="  ")
    yield from wrapped(
        ", ".join(f"{name}: {number(value)}" for name, value in row.values.items()), width, indent="  ", hanging="  "
    )
    if row.note:
        yield from wrapped(row.note, width, indent="  ", hanging="  ")
    yield ""


def _study(study: RecipeStudy, width: int) -> Iterator[str]:
    question = study.question(ScaleName.LAPTOP)
    yield from wrapped(f"{study.name}: {study.title}, on {listed(question.servers)}", width, indent="  ", hanging="    ")
    for variable, values in question.sweep.items():
        yield from wrapped(f"{variable} = {', '.join(map(str, values))}", width, indent="    ", hanging="      ")
    for name, setting in question.candidates.items():
        yield from wrapped(f"{name}: {describe(setting)}", width, indent="    ", hanging="      ")
    for scale in ScaleName:
        sized = study.question(scale)
        yield from wrapped(
            f"{scale}: {_load(study, scale)}, {about(sized.minutes * 60)} of trials", width, indent="    ", hanging="      "
        )


def _load(study: RecipeStudy, scale: ScaleName) -> str:
    keys = study.keys(scale)
    options: dict[str, object] = keys.get("workload-options", {})
    threads = keys.get("threads", "")
    levels = listed([str(each) for each in threads]) if isinstance(threads, Sequence) else str(threads)
    size = f"{keys['tables']} tables of {keys['table-size']:,} rows" if "table-size" in keys else ""
    details = [keys.get("rand-type", ""), *(f"{name} {value}" for name, value in options.items())]
    if "measure" in keys and "warmup" in keys:
        details.append(
            f"{keys['measure']:,} s measured after {'' if keys.get('whole-warmup') else 'up to '}{keys['warmup']:,} s"
        )
    fixed = describe(keys["set"]) if "set" in keys else ""
    return ", ".join(filter(None, [keys.get("workload", ""), f"threads {levels}", size, *details, fixed]))
