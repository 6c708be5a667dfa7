// A block that is wider than the page says so: its frame has the class "cut", which shows "…" until it is scrolled to its end.
function markCut(block) {
    const hidden = block.scrollWidth - block.clientWidth - block.scrollLeft;
    block.parentElement.classList.toggle("cut", block.clientWidth > 0 && hidden > 1);
}
const resized = new ResizeObserver(entries => entries.forEach(entry => markCut(entry.target)));
for (const block of document.querySelectorAll(".highlight > pre")) {
    markCut(block);
    resized.observe(block);
    block.addEventListener("scroll", () => markCut(block), {passive: true});
}
