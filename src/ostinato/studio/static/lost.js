// An address that is none.
import "./frame.js";
import { nothing } from "./dom.js";

nothing("Nothing here", `There is no page ${location.pathname}.`);
