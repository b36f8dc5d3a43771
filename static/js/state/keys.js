// Which key does what: a binding is {keys, what, run}, and `within` what it holds if not everywhere. One without `run` is
// of a field or a list that hears it itself; it stands on the help sheet alone. Decides from a plain event, so that node can test it.

const NAMED = { " ": "Space", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

function keyName(event) {
  return NAMED[event.key] ?? event.key;
}

/** The binding an event asks for, or undefined: typing in a field and combinations with Ctrl, Alt or Meta belong to the browser. */
export function bindingFor(event, bindings) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return undefined;
  if (isTyping(event.target) && event.key !== "Escape") return undefined;
  const name = keyName(event);
  const holds = ({ keys, within, run = true }) => run !== null && keys.includes(name) && (!within || event.target?.closest?.(within));
  return bindings.find((binding) => holds(binding) && (binding.within || !ownsKey(event.target, name)));
}

function isTyping(target) {
  if (!target?.tagName) return false;
  const tag = target.tagName.toLowerCase();
  if (tag === "textarea" || tag === "select" || target.isContentEditable) return true;
  return tag === "input" && !["button", "checkbox", "radio", "submit", "range"].includes(target.type);
}

// A button keeps Space and Enter, a slider and a radio their arrows, a scrolled region its own keys.
function ownsKey(target, name) {
  const tag = target?.tagName?.toLowerCase();
  if (["Space", "Enter"].includes(name)) return tag === "button" || tag === "a" || tag === "summary";
  const moves = ["←", "→", "↑", "↓", "Home", "End", "PageUp", "PageDown"];
  return moves.includes(name) && (tag === "input" || (target?.dataset?.ownKeys ?? "").split(" ").includes(name));
}
