// Wide tables scroll in a box that the theme puts around them later: the keyboard must reach it.
new MutationObserver(() => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) box.tabIndex = 0;
}).observe(document, { childList: true, subtree: true });
