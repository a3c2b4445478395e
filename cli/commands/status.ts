import type { Command } from 'commander'
import { ApiFailure } from '../../src/client/failures.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { openContext, type Context } from '../context/context.ts'
import { Failure } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'
import { write } from '../output/streams.ts'

const active = ['running', 'waiting', 'queued'] as const
interface Count {
  columnId: string
  name: string
  columnType: string
  count: number
}
interface Stats {
  total: number
  byStatus: Record<string, number | undefined>
  byColumn: Count[]
  monitorQuestions?: number
}
/** The number of agents per active status. */
type Agents = Record<(typeof active)[number], number>
type Daemon = Output<Contract['server']['daemons']>[number]
interface Status {
  server: { url: string; status: string; version?: string }
  /** The servers that share the board; null if the server is alone, or if the caller lacks permission. */
  daemons: Daemon[] | null
  user: { email: string; displayName: string; role: string } | null
  /** `from` is the flag, variable or profile that names it, or the working folder. */
  project: { id: string; name: string; from: string } | null
  agents: Agents | null
  total: number | null
  byStatus: Record<string, number | undefined> | null
  byColumn: Count[] | null
  /** How many monitors wait for a person's permission. */
  monitorQuestions: number | null
}

const fields: Column<Status>[] = [
  { name: 'server', value: ({ server }) => `${server.url} (${server.version})` },
  {
    name: 'daemons',
    value: ({ daemons }) =>
      daemons &&
      daemons
        .map(
          ({ machine, url, isThere, duties }) =>
            `${machine} (${url}${!isThere ? ', offline' : duties.length === 0 ? ', standing by' : ''})`,
        )
        .join(', '),
  },
  {
    name: 'user',
    value: ({ user }) => (user ? `${user.displayName}${user.email && ` <${user.email}>`}, ${user.role}` : null),
  },
  {
    name: 'project',
    style: 'title',
    value: ({ project }) => project && `${project.name} (${project.id}), from ${project.from}`,
  },
  { name: 'agents', value: ({ agents }) => agents && (countsOf(agents).slice(2) || 'none running') },
  {
    name: 'total',
    header: 'Cards',
    value: ({ total, byStatus }) => (total === null ? null : `${total}${countsOf(byStatus)}`),
  },
  {
    name: 'monitorQuestions',
    header: 'Monitor questions',
    value: ({ monitorQuestions }) => monitorQuestions || undefined,
  },
]
const columns: Column<Count>[] = [
  { name: 'columnId', header: 'ID', style: 'id', align: 'right', value: count => count.columnId },
  { name: 'name', header: 'COLUMN', style: 'title', value: count => count.name },
  { name: 'columnType', header: 'TYPE', style: 'dim', value: count => count.columnType },
  { name: 'count', header: 'CARDS', align: 'right', value: count => count.count },
]
/** Statuses that require a person. */
const troubles = ['failed', 'interrupted', 'waiting'] as const

export function register(command: Command): void {
  prints(command, null, 'server daemons user project agents total byStatus byColumn monitorQuestions')
  example(
    command.option(
      '--exit-status',
      'exit with 1 if a card failed, was interrupted, or is waiting for you, or a monitor is waiting for your permission',
    ),
    'board status',
    'board status -P api --exit-status -q || mail -s board ada@example.com',
  ).action((options: { exitStatus?: boolean }) => showStatus(command, options))
}

async function showStatus(command: Command, { exitStatus }: { exitStatus?: boolean }): Promise<void> {
  const context = await openContext(command)
  const health = await context.client.server.health()
  const [user, project] = await Promise.all([context.external ? null : context.client.auth.me(), readProject(context)])
  const stats = project && (await readStats(context, project.id))
  const agents = project && (await countAgents(context, project.id, stats!))
  const row: Status = {
    server: { url: context.connection.url, ...health },
    daemons: await listDaemons(context, user),
    user,
    project,
    agents,
    total: stats?.total ?? null,
    byStatus: stats?.byStatus ?? null,
    byColumn: stats?.byColumn ?? null,
    monitorQuestions: stats?.monitorQuestions ?? null,
  }
  await printStatus(context, row)
  const troubled = troubles.filter(name => (stats?.byStatus[name] ?? 0) > 0)
  if (exitStatus && troubled.length > 0)
    throw new Failure('failure', `cards need you:${countsOf(stats!.byStatus, troubled).replace(/^: /, ' ')}`, {
      see: `board cards list --status ${troubled[0]}`,
    })
  if (exitStatus && stats?.monitorQuestions)
    throw new Failure('failure', `monitors wait for your permission: ${stats.monitorQuestions}`, {
      see: 'board monitors list',
    })
}

async function printStatus({ out }: Context, row: Status): Promise<void> {
  if (out.quiet && !out.json) return
  if (out.json) return out.record(row, fields)
  const shown = row.project ? fields : fields.slice(0, 3)
  await out.record(row, row.daemons ? shown : shown.filter(({ name }) => name !== 'daemons'))
  if (!row.byColumn) return out.done('No project is selected: use -P.')
  if (out.terminal.stdout) write('\n')
  await out.list(row.byColumn, columns)
}

/** The daemons that share the board, for administrators. */
async function listDaemons({ client }: Context, user: Status['user']): Promise<Daemon[] | null> {
  if (user === null || user.role === 'user') return null
  const daemons = await client.server.daemons()
  return daemons.length === 0 ? null : daemons
}

/** Returns the current project. Returns null if none is selected, because the server's status is useful without it. */
async function readProject(context: Context): Promise<Status['project']> {
  try {
    const { id, name } = await context.project()
    return { id, name, from: context.selection.project?.from ?? 'the current folder' }
  } catch (error) {
    if (error instanceof Failure && error.exit === 'usage' && !context.selection.project) return null
    throw error
  }
}

async function readStats(context: Context, id: string): Promise<Stats> {
  if (!context.external) return context.client.projects.stats({ id })
  try {
    const stats = await context.client.external.stats({ projectId: id })
    return { ...stats, byColumn: stats.byColumn.map(count => ({ ...count, columnId: String(count.columnId) })) }
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 403)
      throw new Failure('denied', 'the API key lacks the permission cards.read', { cause: error })
    throw error
  }
}

/**
 * Counts active agents by status. For a key that cannot read agents, uses the card counts, which omit cards outside of
 * boards.
 */
async function countAgents({ client, external }: Context, projectId: string, { byStatus }: Stats): Promise<Agents> {
  const statuses = external ? undefined : (await client.agents.active({ projectId })).map(({ status }) => status)
  return Object.fromEntries(
    active.map(name => [name, statuses ? statuses.filter(status => status === name).length : (byStatus[name] ?? 0)]),
  ) as Agents
}

function countsOf(byStatus: Record<string, number | undefined> | null, only?: readonly string[]): string {
  const parts = Object.entries(byStatus ?? {})
    .filter(([name, count]) => count && (!only || only.includes(name)))
    .map(([name, count]) => `${count} ${name}`)
  return parts.length > 0 ? `: ${parts.join(', ')}` : ''
}
