import { useMemo, useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { useProject } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { Choice } from '../ui/Inputs.tsx'
import { Await, Page } from '../ui/Page.tsx'
import { Status } from '../ui/Status.tsx'
import {
  cardsByDay,
  finishedByDay,
  lastDays,
  statusesByDay,
  usageByDay,
  type HistoryDay,
  type UsageOfDay,
} from './days.ts'
import { StackedBars } from './StackedBars.tsx'

const ranges = [
  ['14', '2 weeks'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const
type Range = (typeof ranges)[number][0]

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1, notation: 'compact' })
const dollars = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD' })

/** The progress of a project: its cards over time, its finished cards, and the usage of its agents. */
export function ChartsPage({ projectId }: { projectId: string }) {
  const [range, setRange] = useState<Range>('30')
  const days = useMemo(() => lastDays(Number(range)), [range])
  // One additional day, to compute the cards finished on the first day.
  const [since] = lastDays(Number(range) + 1)
  const loaded = useLoad(async () => {
    const [history, usage, stats] = await Promise.all([
      client.projects.history({ id: projectId, since }),
      client.projects.usage({ id: projectId, since: days[0] }),
      client.projects.stats({ id: projectId }),
    ])
    return { history, usage, stats }
  }, [projectId, range])
  const name = useProject(projectId)?.name ?? 'the project'
  return (
    <Page
      title={`Charts of ${name}`}
      tools={
        <>
          <Choice label="Period" options={ranges} value={range} onChange={setRange} />
          <a href={hrefOf({ name: 'board', projectId })}>Board</a>
        </>
      }
    >
      <Await of={loaded}>{value => <Charts {...value} days={days} />}</Await>
    </Page>
  )
}

interface ChartsProps {
  history: readonly HistoryDay[]
  usage: readonly UsageOfDay[]
  stats: Output<Contract['projects']['stats']>
  days: readonly string[]
}

function Charts({ history, usage, stats, days }: ChartsProps) {
  const [measure, setMeasure] = useState<'tokens' | 'cost'>('tokens')
  const isCost = measure === 'cost'
  const hasCost = usage.some(({ costUsd }) => costUsd !== null)
  const used = usageByDay(usage, days, each => (isCost ? (each.costUsd ?? 0) : each.inputTokens + each.outputTokens))
  return (
    <>
      <Now stats={stats} />
      <section className="panel">
        <h2>Cards by day</h2>
        <StackedBars title="Cards by day" {...cardsByDay(history, days)} format={whole.format} />
      </section>
      <Statuses history={history} days={days} />
      <section className="panel">
        <h2>Finished by day</h2>
        <p className="hint">Cards that were done or archived at the end of a day, but not the day before.</p>
        <StackedBars title="Finished by day" {...finishedByDay(history, days)} format={whole.format} />
      </section>
      <section className="panel">
        <h2>Agent usage</h2>
        {usage.length === 0 ? (
          <p>No agent has run in this period.</p>
        ) : (
          <>
            <Choice
              label="Show"
              options={[
                ['tokens', 'tokens'],
                ['cost', hasCost ? 'cost' : 'cost (not reported by agents)'],
              ]}
              value={measure}
              onChange={setMeasure}
            />
            <p className="hint">
              By the day (UTC) on which a session started, as reported by the agents. Sessions of permanently deleted
              cards are not included.
            </p>
            <StackedBars
              title={isCost ? 'Cost by agent and day' : 'Tokens by agent and day'}
              {...used}
              format={isCost ? dollars.format : whole.format}
              minTop={isCost ? 0.2 : 1000}
            />
          </>
        )}
      </section>
    </>
  )
}

/** A chart of the number of cards by status. */
function Statuses({ history, days }: Pick<ChartsProps, 'history' | 'days'>) {
  const chart = statusesByDay(history, days)
  const isPartial = chart.points.some(({ values }) => values === undefined)
  const begins = history[0]?.day
  return (
    <section className="panel">
      <h2>Cards by status</h2>
      <p className="hint">
        At the end of each day (UTC), without archived cards.
        {isPartial && begins !== undefined && ` Recorded since ${begins}. Earlier days are unknown.`}
      </p>
      {chart.series.length === 0 ? (
        <p>There were no cards in this period.</p>
      ) : (
        <StackedBars title="Cards by status" {...chart} format={whole.format} />
      )}
    </section>
  )
}

function Now({ stats }: Pick<ChartsProps, 'stats'>) {
  const { total, byStatus, tokens } = stats
  return (
    <section className="panel" aria-label="Now">
      <p>
        {total === 1 ? '1 card' : `${total} cards`}; {whole.format(tokens.total)} tokens in{' '}
        {tokens.sessions === 1 ? '1 session' : `${tokens.sessions} sessions`} in total.
      </p>
      <ul className="legend">
        {Object.entries(byStatus).map(([status, count]) => (
          <li key={status}>
            <Status status={status} /> {count}
          </li>
        ))}
      </ul>
    </section>
  )
}
