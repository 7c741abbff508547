import { mount } from "svelte";

import App from "./App.svelte";
import { open } from "./state/cockpit.svelte";
import { show } from "./state/theme.svelte";
import "./theme.css";

show();
open();
mount(App, { target: document.getElementById("app")! });
