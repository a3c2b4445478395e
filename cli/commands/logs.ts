import { Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import { LogLevel } from '../../src/contract/server/logs.ts'
import type { Output } from '../../src/contract/route.ts'
import { count, pastTime } from '../parsing/arguments.ts'
import { openUserContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { followPages } from '../requests/followPages.ts'
import { drawLogEntry } from '../output/logEntry.ts'
import { example, prints } from '../help/help.ts'
import type { Column, Out } from '../output/output.ts'
import { showAudit } from './logs/audit.ts'

type Entry = Output<Contract['logs']['list']>[number]
interface Filter {
  level?: LogLevel
  search?: string
  since?: string
}
interface Options extends Filter {
  limit: number
  follow?: boolean
  audit?: boolean
  actor?: string
  action?: string
}

const maxConcurrent = 1000
const columns: Column<Entry>[] = [
  { name: 'id', style: 'id', align: 'right', value: entry => entry.id },
  { name: 'at', style: 'time', value: entry => entry.at },
  { name: 'level', style: 'status', value: entry => entry.level },
  { name: 'source', value: entry => entry.source },
  { name: 'message', style: 'text', value: entry => entry.message },
  { name: 'requestId', value: entry => entry.requestId },
  { name: 'fields', value: entry => entry.fields },
]

export function register(logs: Command): void {
  prints(logs, 'logs.list')
  example(
    logs
      .description(
        "Show the server's log, newest entries last (server admins only). Successful reads are logged only with --log-level info, and only in the log files.",
      )
      .option('-f, --follow', 'follow new entries until Ctrl-C')
      .addOption(new Option('--level <level>', 'lowest level of entries').choices(LogLevel.options))
      .option('--search <words>', 'words at the start of words in the entries; "quoted words" must match together')
      .addOption(
        new Option('--limit <number>', 'maximum number of results, newest first').argParser(count).default(100),
      )
      .addOption(
        new Option('--since <when>', 'show only entries after a time, or within a duration: 15m').argParser(pastTime),
      )
      .option('--audit', 'show the audit log (super_admins only)')
      .option('--actor <name>', "with --audit: part of the author's email")
      .option('--action <action>', 'with --audit: action (keys.create), or all actions of a resource (keys)'),
    'board logs',
    'board logs -f --level warn',
    'board logs --search "status 500" --since 2h',
    'board logs --level error --json | jq .[].fields.cause',
    'board logs --audit --actor ada@example.org --since 30d',
    'board logs --audit --action backups -f',
  ).action((options: Options) => showEntries(logs, options))
}

async function showEntries(command: Command, options: Options): Promise<void> {
  const { follow, limit, level, search, since, audit, actor, action } = options
  const needless = audit ? undefined : (['actor', 'action'] as const).find(name => options[name] !== undefined)
  if (needless) throw usage(`--${needless} requires --audit`)
  const context = await openUserContext(command)
  if (audit) return showAudit(context, { follow, limit, level, search, since, actor, action })
  const filter = { level, search, since }
  const entries = await readEntries(context, filter, limit)
  if (!follow) return printEntries(context.out, entries)
  for (const entry of entries) await printOne(context.out, entry)
  await followPages(context.out, Number(entries.at(-1)?.id ?? (await lastId(context))), {
    maxAtOnce: maxConcurrent,
    read: after => context.client.logs.list({ level, search, after, limit: maxConcurrent }),
    print: entry => printOne(context.out, entry),
  })
}

/** The newest entries, oldest first. */
async function readEntries({ client }: Context, filter: Filter, limit: number): Promise<Entry[]> {
  const entries: Entry[] = []
  while (entries.length < limit) {
    const wanted = Math.min(maxConcurrent, limit - entries.length)
    const page = await client.logs.list({
      ...filter,
      limit: wanted,
      ...(entries.length > 0 && { before: Number(entries.at(-1)!.id) }),
    })
    entries.push(...page)
    if (page.length < wanted) break
  }
  return entries.toReversed()
}

const lastId = async ({ client }: Context): Promise<string> => (await client.logs.list({ limit: 1 }))[0]?.id ?? '0'

async function printEntries(out: Out, entries: readonly Entry[]): Promise<void> {
  if (!isDrawn(out) || entries.length === 0) return out.list(entries, columns, { empty: 'No entries.' })
  await out.text(entries.map(entry => drawLogEntry(out, entry)).join(''))
}

async function printOne(out: Out, entry: Entry): Promise<void> {
  await (isDrawn(out) ? out.text(drawLogEntry(out, entry)) : out.row(entry, columns))
}

const isDrawn = (out: Out) => out.terminal.stdout && !out.json && !out.quiet
