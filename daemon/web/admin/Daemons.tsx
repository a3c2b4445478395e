import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Await } from '../ui/Page.tsx'
import { Time } from '../ui/Time.tsx'
import { usePoll } from '../ui/usePoll.ts'
import { Table } from '../ui/Table.tsx'

/** The daemons that share this board. */
export function Daemons() {
  const loaded = useLoad(async () => ({ health: await client.server.health(), all: await client.server.daemons() }), [])
  usePoll(true, 10_000, loaded.reload)
  return (
    <Await of={loaded}>
      {({ health, all }) => (
        <>
          <p>This server runs board {health.version}.</p>
          {all.length === 0 ? (
            <p>The database is a file on this machine. No other daemon shares the board.</p>
          ) : (
            <Table label="Daemons" head={['Machine', 'Address', 'Version', 'Since', 'Seen', 'Duties']}>
              {all.map(daemon => (
                <tr key={daemon.id}>
                  <td>
                    {daemon.machine}
                    {daemon.isThis && ' (this one)'}
                  </td>
                  <td>{daemon.url}</td>
                  <td>{daemon.version}</td>
                  <td>
                    <Time at={daemon.startedAt} />
                  </td>
                  <td>{daemon.isThere ? `${Math.round(daemon.seenSecsAgo)} s ago` : 'away'}</td>
                  <td>{daemon.duties.join(', ') || 'standby'}</td>
                </tr>
              ))}
            </Table>
          )}
        </>
      )}
    </Await>
  )
}
