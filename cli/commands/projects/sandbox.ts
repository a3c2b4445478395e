import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { resolveProject } from '../../context/resolve.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { collect, durationSecs, noneAsEmpty, orWord, wordAsNull } from '../../parsing/arguments.ts'

type Sandbox = Output<Contract['projects']['get']>['sandbox']
type Change = NonNullable<Parameters<Context['client']['projects']['update']>[0]['sandbox']>
type Status = Output<Contract['agents']['sandbox']>

type Bound = number | 'none'

interface Options {
  mode?: Sandbox['mode']
  network?: Sandbox['network']
  allow?: string[]
  disallow?: string[]
  cache?: string[]
  monitors?: Sandbox['monitors']
  maxMemory?: Bound
  maxProcesses?: Bound
  maxFile?: Bound
  maxTime?: Bound
}

const fields: Column<Sandbox>[] = [
  { name: 'mode', value: sandbox => sandbox.mode },
  { name: 'network', value: sandbox => sandbox.network },
  { name: 'hosts', header: 'Hosts', value: sandbox => sandbox.hosts },
  { name: 'caches', value: sandbox => sandbox.caches },
  { name: 'monitors', value: sandbox => sandbox.monitors },
  { name: 'memoryMiB', header: 'Memory (MB)', value: sandbox => sandbox.memoryMiB },
  { name: 'processes', value: sandbox => sandbox.processes },
  { name: 'fileMiB', header: 'File (MB)', value: sandbox => sandbox.fileMiB },
  { name: 'minutes', value: sandbox => sandbox.minutes },
]

export function registerSandbox(projects: Command): void {
  const sandbox = addBoundOptions(projects.command('sandbox [project]'))
    .summary("Show or change the sandbox of a project's agents")
    .description(
      "Show or change the sandbox of a project's agents (default: the current project). In the sandbox, an agent sees the system, the project and its own state, and can change only its worktree. Allowed monitors and scripts run outside the sandbox. Running sessions keep their settings. board doctor shows the default limits.",
    )
    .addOption(
      new Option(
        '--mode <which>',
        'inherit: default of the server; require: agents start only in a sandbox; off: no sandbox',
      ).choices(['inherit', 'require', 'off']),
    )
    .addOption(
      new Option(
        '--network <how-much>',
        'network access (egress). full: that of the server; listed: the model, the board and the hosts of --allow; none: only the board',
      ).choices(['full', 'listed', 'none']),
    )
    .option(
      '--allow <host>',
      'additional host for --network listed: example.org, *.example.org, example.org:8443 (repeatable; none removes all)',
      collect,
    )
    .option('--disallow <host>', 'host to remove from the list (repeatable)', collect)
    .option(
      '--cache <folder>',
      'writable folder in the home folder, for example ~/.npm (repeatable; none removes all)',
      collect,
    )
    .addOption(
      new Option(
        '--monitors <which>',
        'monitors of sandboxed agents, which run outside the sandbox. ask: after approval by a person who can run scripts; allow: immediately',
      ).choices(['ask', 'allow']),
    )
    .action(async (wanted: string | undefined, options: Options) => {
      const context = await openUserContext(sandbox)
      const { id } = await (wanted === undefined ? context.project() : resolveProject(context, wanted))
      if (Object.keys(options).length === 0) return showSandbox(context, id)
      const { sandbox: edited } = await context.client.projects.update({
        id,
        sandbox: await readChange(context, id, options),
      })
      await context.out.did(
        edited,
        `Changed the sandbox of project ${id}. The change applies to future starts of agents.`,
      )
    })
  prints(sandbox, null, 'mode network hosts caches monitors memoryMiB processes fileMiB minutes')
  example(
    sandbox,
    'board projects sandbox',
    'board projects sandbox web --mode require --network listed --allow registry.npmjs.org',
    'board projects sandbox --cache ~/.npm --max-memory 4G --max-time 2h',
    'board projects sandbox --json network,hosts',
  )
}

/** Adds the options for the bounds of a session. */
const addBoundOptions = (command: Command): Command =>
  command
    .option('--max-memory <size>', 'maximum memory of a session: 4G; none for the default', orWord('none', megabytesOf))
    .option('--max-processes <number>', 'maximum processes of a session; none for the default', orWord('none', countOf))
    .option(
      '--max-file <size>',
      'maximum size of each written file: 2G; none for no limit',
      orWord('none', megabytesOf),
    )
    .option('--max-time <time>', 'maximum time of a session: 2h; none: no limit', orWord('none', minutesOf))

async function showSandbox(context: Context, id: string): Promise<void> {
  const [{ sandbox }, status] = await Promise.all([
    context.client.projects.get({ id }),
    context.client.agents.sandbox(),
  ])
  await context.out.record(sandbox, fields)
  for (const line of statusLines(status, sandbox.mode)) context.out.done(line)
}

/** Describes a server's sandbox. Without one, includes advice. */
export function statusLines(
  { mode, kind, reason, advice }: Status,
  projectMode: Sandbox['mode'] = 'inherit',
): string[] {
  if (projectMode === 'off' && mode !== 'require') return ['The agents of this project run without a sandbox.']
  if (kind !== 'none') return [`Agents run in a sandbox (${kind}).`]
  return [`Agents run without a sandbox: ${reason}`, ...(advice === null ? [] : [advice])]
}

async function readChange(
  { client }: Context,
  id: string,
  { allow, disallow, cache, maxMemory, maxProcesses, maxFile, maxTime, ...rest }: Options,
): Promise<Change> {
  const added = noneAsEmpty(allow)
  const kept = disallow && (await client.projects.get({ id })).sandbox.hosts.filter(host => !disallow.includes(host))
  return {
    ...rest,
    hosts: added?.length === 0 ? [] : kept,
    addHosts: added,
    caches: noneAsEmpty(cache)?.map(fromHome),
    memoryMiB: wordAsNull('none', maxMemory),
    processes: wordAsNull('none', maxProcesses),
    fileMiB: wordAsNull('none', maxFile),
    minutes: wordAsNull('none', maxTime),
  }
}

/** Restores `~` in a path, because the shell replaced it with the home folder. */
const fromHome = (path: string): string =>
  process.env.HOME !== undefined && path.startsWith(`${process.env.HOME}/`)
    ? `~${path.slice(process.env.HOME.length)}`
    : path

function megabytesOf(text: string): number {
  const [, digits, unit] = /^(\d{1,7})\s*([mgt])i?b?$/i.exec(text) ?? []
  if (digits === undefined) throw new InvalidArgumentError('must be a size such as 512M or 4G, or none.')
  return Number(digits) * { m: 1, g: 1024, t: 1024 ** 2 }[unit!.toLowerCase() as 'm' | 'g' | 't']
}

function countOf(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('must be a number, or none.')
  return Number(text)
}

const minutesOf = (text: string): number => Math.ceil(durationSecs(text) / 60)
