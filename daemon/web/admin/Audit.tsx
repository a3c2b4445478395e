import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Choice, TextInput, useFields } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { Time } from '../ui/Time.tsx'
import { Table } from '../ui/Table.tsx'

type Entry = Output<Contract['audit']['list']>['items'][number]

const outcomes = [
  ['', 'all'],
  ['ok', 'successful actions'],
  ['failed', 'failed actions'],
] as const

/** The audit log. */
export function Audit() {
  const { values, bind } = useFields<{ search: string; actor: string; action: string; outcome: '' | 'ok' | 'failed' }>({
    search: '',
    actor: '',
    action: '',
    outcome: '',
  })
  const filter = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ''))
  const loaded = useLoad(() => client.audit.list(filter), Object.values(values))
  const readMore = async () => {
    const { items, nextCursor } = loaded.value!
    const more = await client.audit.list({ ...filter, cursor: nextCursor! })
    loaded.set({ items: [...items, ...more.items], nextCursor: more.nextCursor })
  }
  return (
    <>
      <div className="filters">
        <TextInput label="Search" type="search" {...bind('search')} />
        <TextInput label="Actor" placeholder="part of an email" {...bind('actor')} />
        <TextInput label="Action" placeholder="keys.create, or keys" {...bind('action')} />
        <Choice label="Outcome" options={outcomes} {...bind('outcome')} />
      </div>
      <Await of={loaded}>
        {({ items, nextCursor }) => (
          <>
            <Table label="Audit log" head={['When', 'Actor', 'Action', 'Target', 'Credential', 'Address', 'Details']}>
              {items.map(entry => (
                <AuditRow key={entry.id} {...entry} />
              ))}
            </Table>
            {items.length === 0 && <p>No entries.</p>}
            {nextCursor !== null && <Button onClick={readMore}>Older</Button>}
          </>
        )}
      </Await>
    </>
  )
}

const AuditRow = ({ at, actor, action, outcome, target, via, address, detail, count }: Entry) => (
  <tr>
    <td>
      <Time at={at} />
    </td>
    <td>{actor.name ?? actor.kind}</td>
    <td>
      <code>{action}</code>
      {outcome === 'failed' && <span className="error"> failed{count > 1 && ` ${count} times`}</span>}
    </td>
    <td>{target && `${target.kind} ${target.id ?? ''}`}</td>
    <td>{via.kind}</td>
    <td>{address}</td>
    <td>
      {Object.entries(detail)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', ')}
    </td>
  </tr>
)
