// The browser of the tests: Chromium as the system has it, installed if it is missing and this is Debian, as root.
//
//   node scripts/chromium.mjs     prints where it is
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The path of the executable: what `CHROMIUM` names, or the first that is installed. Throws when there is none. */
export function chromiumPath() {
  const named = process.env.CHROMIUM;
  if (named) {
    if (existsSync(named)) return named;
    throw new Error(`CHROMIUM is ${named}, and there is no such file.`);
  }
  return PLACES.find((path) => existsSync(path)) ?? install();
}

if (process.argv[1] === import.meta.filename) console.log(chromiumPath());

function install() {
  const manual = 'Install Chromium (on Debian: apt-get install chromium), or set CHROMIUM to a browser of its kind.';
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    throw new Error(`There is no Chromium here, and it can be installed only as root on Debian. ${manual}`);
  const options = {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  };
  spawnSync('apt-get', ['update', '-q'], options);
  // Letters of any kind need a font; a bare system has none.
  const packages = ['chromium', 'fonts-dejavu-core'];
  const { status, stderr } = spawnSync('apt-get', ['install', '-qy', '--no-install-recommends', ...packages], options);
  const found = PLACES.find((path) => existsSync(path));
  if (status !== 0 || found === undefined) throw new Error(`Chromium could not be installed: ${stderr} ${manual}`);
  return found;
}
