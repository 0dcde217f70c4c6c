// Shows HTML that Python made and escaped; keys and clicks tell Python what the judge decided. Nothing is computed here.
const KEYS = { ArrowDown: "next", ArrowRight: "next", j: "next", ArrowUp: "back", ArrowLeft: "back", k: "back", Backspace: "back" };

function render({ model, el }) {
  el.classList.add("wb-judging");
  el.tabIndex = 0;
  // JupyterLab would take digits and arrows as commands of the notebook.
  el.dataset.lmSuppressShortcuts = "true";
  const said = (kind, value) => model.send({ kind, value });
  const draw = () => { el.innerHTML = model.get("html"); };
  el.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const digit = /^[0-9]$/.test(event.key);
    if (!digit && !(event.key in KEYS)) return;
    event.preventDefault();
    event.stopPropagation();
    if (digit) said("grade", event.key);
    else said("step", KEYS[event.key]);
  });
  el.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button && el.contains(button)) said(button.dataset.kind, button.dataset.value);
    el.focus({ preventScroll: true });
  });
  model.on("change:html", draw);
  draw();
}

export default { render };
