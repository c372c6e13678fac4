// The browser of the tests: Chromium as the system has it, installed if it is missing and this is Debian, as root.
//
//   node scripts/chromium.mjs     prints where it is
import { existsSync } from 'node:fs';
import { canInstall, install } from './apt.mjs';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The path of the executable: what `CHROMIUM` names, or the first that is installed. Throws when there is none. */
export function chromiumPath() {
  const named = process.env.CHROMIUM;
  if (named) {
    if (existsSync(named)) return named;
    throw new Error(`CHROMIUM is ${named}, and there is no such file.`);
  }
  return PLACES.find((path) => existsSync(path)) ?? installed();
}

if (process.argv[1] === import.meta.filename) console.log(chromiumPath());

function installed() {
  const manual = 'Install Chromium (on Debian: apt-get install chromium), or set CHROMIUM to a browser of its kind.';
  if (!canInstall())
    throw new Error(`Chromium is not installed, and this script can install it only as root on Debian. ${manual}`);
  // Letters of any kind need a font; a bare system has none.
  const problem = install('chromium', 'fonts-dejavu-core');
  const found = PLACES.find((path) => existsSync(path));
  if (problem !== undefined || found === undefined)
    throw new Error(`Chromium could not be installed: ${problem ?? 'it is not where it should be.'} ${manual}`);
  return found;
}
