// What an upload is doing, as a person reads it: a pure step from one view to the next.
import { byteSize } from "./format.js";

export const waiting = (name, size) => ({ name, size, sent: 0, phase: "waiting", text: "waiting for its turn", job: undefined });

export function after(view, event) {
  switch (event.type) {
    case "began":
      return { ...view, phase: "sending", text: `0 B of ${byteSize(view.size)}` };
    case "progressed":
      return { ...view, phase: "sending", sent: event.sent, text: `${byteSize(event.sent)} of ${byteSize(view.size)}` };
    case "interrupted":
      return { ...view, phase: "resuming", text: `the connection broke at ${byteSize(view.sent)}; trying again` };
    case "sent":
      return { ...view, phase: "checking", sent: view.size, text: "checking its shape" };
    case "accepted":
      return { ...view, phase: "accepted", job: event.job, text: event.repeated ? "is already here" : "accepted" };
    case "refused":
      return { ...view, phase: "refused", text: event.why };
    default:
      throw new Error(`no upload event ${event.type}`);
  }
}
