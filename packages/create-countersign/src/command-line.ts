// The command line: reads the options, asks for missing ones, writes the project, installs it, and prints the next steps.
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { askFolder, askTemplate } from './ask.ts';
import {
  install,
  isPackageManager,
  PACKAGE_MANAGERS,
  type PackageManager,
  runningPackageManager,
  scriptCommand,
} from './package-manager.ts';
import { checkTarget, writeProject } from './project.ts';
import { Refusal } from './refusal.ts';
import { isTemplateName, TEMPLATES, type TemplateName } from './templates.ts';

const DEFAULT_FOLDER = 'countersign-app';

/** Runs one command line and returns the exit code. Never throws. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  try {
    await run(args);
    return 0;
  } catch (error) {
    const { exitCode, message } = error instanceof Refusal ? error : { exitCode: 1, message: String(error) };
    process.stderr.write(`error: ${message}\n`);
    return exitCode;
  }
}

async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parse(args);
  if (values.help) return void process.stdout.write(HELP);
  if (values.version) return void process.stdout.write(`${version()}\n`);
  if (positionals.length > 1)
    throw new Refusal(`Expected one folder, got ${positionals.length}: ${positionals.join(' ')}`, 2);
  const manager = managerOf(values['package-manager']);
  const named = values.template === undefined ? undefined : templateOf(values.template);
  const mayAsk = !values.yes && process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (!mayAsk && !values.yes && (named === undefined || positionals[0] === undefined))
    throw new Refusal('Without a terminal, name the folder and --template, or pass --yes. See --help.', 2);

  const folderName = positionals[0] ?? (mayAsk ? await askFolder(DEFAULT_FOLDER) : DEFAULT_FOLDER);
  const folder = resolve(folderName);
  // Checked before the next question, so that the user does not answer it for nothing.
  checkTarget(folder, folderName);
  const template = named ?? (mayAsk ? await askTemplate() : 'server');
  writeProject(folder, template);
  process.stdout.write(`Created ${folderName} from the template ${template}.\n`);
  if (!values['no-install']) await install(manager, folder);
  process.stdout.write(nextSteps(folder, template, manager, values['no-install'] !== true));
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        template: { type: 'string', short: 't' },
        yes: { type: 'boolean', short: 'y' },
        'package-manager': { type: 'string' },
        'no-install': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
      },
    });
  } catch (error) {
    throw new Refusal(`${(error as Error).message.split('. ')[0]}. See --help.`, 2);
  }
}

function templateOf(name: string): TemplateName {
  if (isTemplateName(name)) return name;
  throw new Refusal(`Unknown template ${name}. Templates: ${TEMPLATES.map((known) => known.name).join(', ')}.`, 2);
}

function managerOf(name: string | undefined): PackageManager {
  if (name === undefined) return runningPackageManager();
  if (isPackageManager(name)) return name;
  throw new Refusal(`Unknown package manager ${name}. Known: ${PACKAGE_MANAGERS.join(', ')}.`, 2);
}

function nextSteps(folder: string, template: TemplateName, manager: PackageManager, isInstalled: boolean): string {
  const place = relative(process.cwd(), folder);
  const script = TEMPLATES.find(({ name }) => name === template)?.script ?? 'start';
  const steps = [
    ...(place === '' ? [] : [`cd ${/\s/.test(place) ? `"${place}"` : place}`]),
    ...(isInstalled ? [] : [`${manager} install`]),
    scriptCommand(manager, script),
  ];
  return `\nNext:\n${steps.map((step) => `  ${step}\n`).join('')}\nREADME.md in that folder has the next steps. You need no API key: a scripted model answers.\n`;
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

const HELP = `Usage: npm create countersign [folder] -- [options]

Creates a project in which tool calls wait for a person. It works without an API key.

Options:
  -t, --template <name>     ${TEMPLATES.map(({ name, about }) => `${name.padEnd(15)}${about}`).join('\n                            ')}
  -y, --yes                 ask nothing: template server, folder ${DEFAULT_FOLDER}
  --package-manager <name>  ${PACKAGE_MANAGERS.join(', ')} (default: the one that runs this)
  --no-install              write the files only
  -h, --help                show this help
  -v, --version             print the version

Examples:
  npm create countersign
  npm create countersign clerk -- --template server
  npm create countersign chat -- --template nextjs --no-install
`;
