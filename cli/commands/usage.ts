import { Option, type Command } from 'commander'
import { toCsv } from '../../src/contract/projects/csv.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { UsageRow } from '../../src/contract/agents/usage.ts'
import { cardIdOf } from '../cards/cardIds.ts'
import { openUserContext } from '../context/context.ts'
import { resolveOrganization } from '../context/resolve.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'
import { write } from '../output/streams.ts'
import { dayAgo } from '../parsing/arguments.ts'

type Row = Output<Contract['usage']['list']>[number]
const groups = ['card', 'project', 'agent', 'model', 'person', 'credential', 'day'] as const
interface Options {
  by: (typeof groups)[number]
  since?: string
  until?: string
  card?: string
  org?: string
  csv?: boolean
}

/** Prints a missing value as `unknown`, not as 0. */
const numberOrUnknown = (value: number | null, digits?: number) =>
  value === null ? 'unknown' : digits === undefined ? value : value.toFixed(digits)
const columnsOf = (isId: boolean): Column<Row>[] => [
  { name: 'key', style: 'id', value: row => row.key, hidden: !isId },
  { name: 'name', style: 'title', value: row => row.name ?? (row.key === null ? 'unknown' : isId ? '' : row.key) },
  { name: 'runs', align: 'right', value: row => row.runs },
  { name: 'unknownRuns', header: 'UNKNOWN', align: 'right', value: row => row.unknownRuns },
  { name: 'inputTokens', header: 'INPUT', align: 'right', value: row => numberOrUnknown(row.inputTokens) },
  { name: 'outputTokens', header: 'OUTPUT', align: 'right', value: row => numberOrUnknown(row.outputTokens) },
  { name: 'costUsd', header: 'USD', align: 'right', value: row => numberOrUnknown(row.costUsd, 2) },
  { name: 'estimatedUsd', header: 'ESTIMATED', align: 'right', spare: true, value: row => row.estimatedUsd.toFixed(2) },
  { name: 'hours', align: 'right', value: row => row.hours.toFixed(2) },
]

export function register(command: Command): void {
  prints(command, 'usage.list')
  example(
    command
      .description(
        'Report the usage of agents in the projects that you can view, or in the project of -P: runs, tokens, cost and hours. UNKNOWN is the number of runs without a cost, which USD does not include. ESTIMATED is the part of USD from the price list. Days are in UTC.',
      )
      .addOption(new Option('--by <what>', 'grouping of the report').choices(groups).default('card'))
      .addOption(new Option('--since <time>', 'first day: 30d, or a date such as 2030-01-31').argParser(dayAgo))
      .addOption(new Option('--until <time>', 'last day').argParser(dayAgo))
      .option('--card <card>', 'only of this card')
      .option('--org <organization>', 'only of this organization (name or ID)')
      .option('--csv', 'print CSV'),
    'board usage --since 30d',
    'board usage --by day --since 7d -P web',
    'board usage --by person --csv > usage.csv',
  ).action(async (options: Options) => {
    const context = await openUserContext(command)
    const { by, since, until, card, org } = options
    const rows = await context.client.usage.list({
      groupBy: by === 'person' ? 'user' : by,
      from: since,
      to: until,
      ...(card !== undefined && { cardId: Number(cardIdOf(card)) }),
      ...(org !== undefined && { organizationId: Number((await resolveOrganization(context, org)).id) }),
      ...(context.globals.project !== undefined && { projectId: Number((await context.project()).id) }),
    })
    if (options.csv) return write(toCsv(Object.keys(UsageRow.entries), rows))
    const isId = !['agent', 'model', 'day'].includes(by)
    await context.out.list(rows, columnsOf(isId), { empty: 'No usage.' })
  })
}
