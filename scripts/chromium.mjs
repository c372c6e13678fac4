// The browser of the tests: Chromium as the system has it, installed if it is missing and this is Debian, as root.
//
//   node scripts/chromium.mjs     prints where it is
import { existsSync } from 'node:fs';
import { canInstall, install } from './apt.mjs';

/** Chromium without its windows: opening a page takes a quarter of the CPU time. */
const SHELL = '/usr/bin/chromium-headless-shell';
const PLACES = [SHELL, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const find = () => PLACES.find((path) => existsSync(path));

/** The path of the executable: what `CHROMIUM` names, or the first that is installed. Throws when there is none. */
export function chromiumPath() {
  const named = process.env.CHROMIUM;
  if (named) {
    if (existsSync(named)) return named;
    throw new Error(`CHROMIUM is ${named}, and there is no such file.`);
  }
  return find() ?? installed();
}

/** The same, but installs the headless shell if only the whole browser is there. If that fails, the whole browser does. */
export function quickChromiumPath() {
  if (!process.env.CHROMIUM && !existsSync(SHELL) && canInstall())
    install('chromium-headless-shell', 'fonts-dejavu-core');
  return chromiumPath();
}

if (process.argv[1] === import.meta.filename) console.log(chromiumPath());

function installed() {
  const manual =
    'Install Chromium (on Debian: apt-get install chromium-headless-shell), or set CHROMIUM to a browser of its kind.';
  if (!canInstall())
    throw new Error(`Chromium is not installed, and this script can install it only as root on Debian. ${manual}`);
  // Letters of any kind need a font; a bare system has none.
  const problem = install('chromium-headless-shell', 'fonts-dejavu-core');
  const found = find();
  if (problem !== undefined || found === undefined)
    throw new Error(`Chromium could not be installed: ${problem ?? 'it is not where it should be.'} ${manual}`);
  return found;
}
