/** The page `/det/login` alone: half of the code of the others (`login.html`). */
import { BASE_PATH } from "@/api/client";
import { LoginPage } from "@/features/login/LoginPage";

import { start } from "./start";

const go = (target: string) => location.replace(`${BASE_PATH}/det${target}`);

start(<LoginPage search={location.search} go={go} />);
