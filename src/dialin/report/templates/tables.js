// Tables of the page as text for other programs.
const { tableAsCsv, tableAsMarkdown } = (() => {
  "use strict";

  // Text as a cell of a CSV file that no spreadsheet takes for a formula.
  function csvCell(text) {
    const words = text.replace(/\s+/g, " ").trim();
    const isFormula = /^[=+\-@]/.test(words) && !/^[+-]?[\d.,]+( ?%)?$/.test(words);
    const safe = isFormula ? `'${words}` : words;
    return /[",]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  }

  // The cells of a table as text, row by row, what is small in a cell in brackets.
  function cellsOf(id) {
    return [...document.getElementById(id).rows].map((row) => [...row.cells].map((cell) => {
      const alone = cell.cloneNode(true);
      const details = [...alone.querySelectorAll("small")].map((one) => { one.remove(); return one.textContent.trim(); });
      const text = alone.textContent.trim();
      return details.length ? `${text} (${details.join("; ")})` : text;
    }));
  }

  function tableAsCsv(id) {
    const lines = cellsOf(id).map((cells) => cells.map(csvCell).join(","));
    return `\ufeff${lines.join("\r\n")}\r\n`;
  }

  // Text as a cell of a Markdown table, in which nothing is markup.
  function markdownCell(text) {
    return text.replace(/\s+/g, " ").trim().replace(/[\\`*_[\]<>|~#@&]/g, (character) => `&#${character.codePointAt(0)};`);
  }

  function tableAsMarkdown(id) {
    const [head, ...rows] = cellsOf(id).map((cells) => `| ${cells.map(markdownCell).join(" | ")} |`);
    const rule = `|${"---|".repeat(document.getElementById(id).rows[0].cells.length)}`;
    return `${[head, rule, ...rows].join("\n")}\n`;
  }

  return { tableAsCsv, tableAsMarkdown };
})();
