// The theme makes a landmark of the button beside each block of code, and tables that scroll but cannot have the focus.
function mend() {
  for (const buttons of document.querySelectorAll("nav.md-code__nav")) {
    buttons.setAttribute("role", "none");
  }
  for (const region of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) {
    if (region.scrollWidth > region.clientWidth) {
      region.tabIndex = 0;
    }
  }
}

new MutationObserver(mend).observe(document.querySelector("article"), { childList: true, subtree: true });
addEventListener("resize", mend);
mend();
