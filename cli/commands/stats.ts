import { Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { dayAgo } from '../parsing/arguments.ts'
import { openContext, type Context } from '../context/context.ts'
import { drawBars, drawBurnUp, drawStatusDays, type Bar } from '../output/charts.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'
import { resolveProject } from '../context/resolve.ts'
import { escapeControls } from '../output/text.ts'

type Stats = Output<Contract['projects']['stats']>
type Day = Output<Contract['projects']['history']>[number]
type By = 'column' | 'status' | 'day'
interface Row {
  group: By
  name: string
  count: number
}

const columns: Column<Row>[] = [
  { name: 'group', value: row => row.group },
  { name: 'name', style: 'title', value: row => row.name },
  { name: 'count', align: 'right', value: row => row.count },
]
const days: Column<Day>[] = [
  ...(['day', 'backlog', 'active', 'done', 'archived'] as const).map(name => ({
    name,
    value: (day: Day) => day[name],
  })),
  {
    name: 'byStatus',
    value: ({ byStatus }) =>
      byStatus &&
      Object.entries(byStatus)
        .map(([name, count]) => `${name} ${count}`)
        .join(', '),
  },
]

export function register(command: Command): void {
  prints(command, null, 'stats days')
  example(
    command
      .argument('[project]', 'project (name or ID)')
      .description(
        "Show the number of a project's cards by column and status, its created and completed cards, and the cards by status for each day.",
      )
      .option('--since <time>', 'first day: 30d, or a date such as 2030-01-31 (default: 90d)', dayAgo)
      .addOption(new Option('--by <what>', 'statistics to show').choices(['column', 'status', 'day'])),
    'board stats',
    'board stats --by day --since 30d',
    'board stats --json --jq .stats.byStatus',
  ).action(async (wanted: string | undefined, options: { since?: string; by?: By }) => {
    const context = await openContext(command)
    const { id, name } = wanted === undefined ? await context.project() : await resolveProject(context, wanted)
    const [stats, history] = await Promise.all([
      context.client.projects.stats({ id }),
      context.client.projects.history({ id, since: options.since }),
    ])
    await printStats(context, name, stats, history, options.by)
  })
}

async function printStats(
  { out }: Context,
  name: string,
  stats: Stats,
  history: Day[],
  by: By | undefined,
): Promise<void> {
  if (out.json) return out.value(by === 'day' ? history : by ? rowsOf(stats, by) : { stats, days: history })
  if (!out.terminal.stdout || out.quiet)
    return by === 'day'
      ? out.list(history, days)
      : out.list(
          [...(by === 'status' ? [] : rowsOf(stats, 'column')), ...(by === 'column' ? [] : rowsOf(stats, 'status'))],
          columns,
        )
  const parts = [
    out.paint(
      `${escapeControls(name)}: ${stats.total} ${stats.total === 1 ? 'card' : 'cards'}, ${stats.tokens.total.toLocaleString('en')} tokens in ${stats.tokens.sessions} ${stats.tokens.sessions === 1 ? 'session' : 'sessions'}`,
      'bold',
    ),
  ]
  if (by !== 'status' && by !== 'day') parts.push(drawBars(barsOf(rowsOf(stats, 'column')), out.terminal))
  if (by !== 'column' && by !== 'day' && stats.total > 0)
    parts.push(drawBars(barsOf(rowsOf(stats, 'status'), true), out.terminal))
  if (by === undefined || by === 'day')
    parts.push(await drawBurnUp(history, out.terminal), drawStatusDays(history, out.terminal))
  await out.text(`${parts.join('\n\n')}\n`)
}

function rowsOf(stats: Stats, by: 'column' | 'status'): Row[] {
  if (by === 'column') return stats.byColumn.map(column => ({ group: by, name: column.name, count: column.count }))
  return Object.entries(stats.byStatus)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => ({ group: by, name, count }))
}

const barsOf = (rows: readonly Row[], statuses = false): Bar[] =>
  rows.map(({ name, count }) => ({ name, count, status: statuses ? name : undefined }))
