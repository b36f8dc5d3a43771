// d3 7.9.2, the UMD bundle as an ES module: its own source has bare imports that a browser cannot resolve.
import "./d3.min.js";

export default globalThis.d3;
