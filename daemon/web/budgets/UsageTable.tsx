import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { toCsv } from '../../../src/contract/projects/csv.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Choice } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { saveFile } from '../ui/saveFile.ts'
import { Table } from '../ui/Table.tsx'

type Row = Output<Contract['usage']['list']>[number]
type Group = Parameters<typeof client.usage.list>[0]['groupBy']

const groups: readonly (readonly [Group, string])[] = [
  ['card', 'card'],
  ['agent', 'agent'],
  ['model', 'model'],
  ['user', 'person'],
  ['credential', 'credential'],
  ['project', 'project'],
  ['day', 'day'],
]
const times = [
  ['7', 'the last 7 days'],
  ['30', 'the last 30 days'],
  ['', 'all time'],
] as const
const dayMs = 86_400_000
const maxRows = 200

/** The usage of the agents of a project, an organization or a card, in groups. */
export function UsageTable(of: { projectId?: number; organizationId?: number; cardId?: number }) {
  const [groupBy, setGroup] = useState<Group>(of.cardId === undefined ? 'card' : 'day')
  const [days, setDays] = useState<(typeof times)[number][0]>('30')
  const usage = useLoad(() => {
    const from = days === '' ? undefined : new Date(Date.now() - Number(days) * dayMs).toISOString().slice(0, 10)
    return client.usage.list({ ...of, groupBy, from })
  }, [groupBy, days, of.projectId, of.organizationId, of.cardId])
  return (
    <>
      <div className="filters">
        <Choice label="Usage by" value={groupBy} onChange={setGroup} options={groups} />
        <Choice label="Period" value={days} onChange={setDays} options={times} />
        <Button icon="file" disabled={!usage.value?.length} onClick={() => saveCsv(groupBy, usage.value!)}>
          CSV
        </Button>
      </div>
      <Await of={usage}>
        {rows =>
          rows.length === 0 ? (
            <p>No agent has worked in this period.</p>
          ) : (
            <Table label="Usage" head={['Name', 'Runs', 'Tokens in', 'Tokens out', 'Cost', 'Hours']}>
              {rows.slice(0, maxRows).map(row => (
                <Used key={row.key ?? ''} row={row} />
              ))}
            </Table>
          )
        }
      </Await>
    </>
  )
}

/** Saves all rows as CSV, including hidden ones, in the server's format. */
const saveCsv = (groupBy: Group, rows: readonly Row[]): void =>
  saveFile({
    body: new Blob([toCsv(Object.keys(rows[0]!), rows)], { type: 'text/csv' }),
    filename: `use-by-${groupBy}.csv`,
  })

const numberOrUnknown = (value: number | null) => (value === null ? 'unknown' : value.toLocaleString())

const Used = ({
  row: { name, runs, unknownRuns, inputTokens, outputTokens, costUsd, estimatedUsd, hours },
}: {
  row: Row
}) => (
  <tr>
    <td>{name ?? 'unknown'}</td>
    <td>{runs}</td>
    <td>{numberOrUnknown(inputTokens)}</td>
    <td>{numberOrUnknown(outputTokens)}</td>
    <td>
      {costUsd === null ? 'unknown' : `$${costUsd.toFixed(2)}`}
      {costUsd !== null && estimatedUsd > 0 && <span className="dim"> (${estimatedUsd.toFixed(2)} by list)</span>}
      {costUsd !== null && unknownRuns > 0 && <span className="dim"> and {unknownRuns} unknown</span>}
    </td>
    <td>{hours.toFixed(2)}</td>
  </tr>
)
