// Unfold what the address leads to: the parts around it, and its own.
function unfoldTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let around = target.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
    const section = target.closest("section");
    const own = section?.querySelector(":scope > details");
    if (own) own.open = true;
    target.scrollIntoView();
}
addEventListener("hashchange", unfoldTarget);
addEventListener("DOMContentLoaded", unfoldTarget);
if (document.readyState !== "loading") unfoldTarget();
