import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { Await } from '../ui/Page.tsx'
import { Table } from '../ui/Table.tsx'
import type { Credential } from './records.ts'

/** The usage of a credential by agents, latest day first. */
export function CredentialUsage({
  credential: { id, name },
  onClose,
}: {
  credential: Credential
  onClose: () => void
}) {
  const usage = useLoad(() => client.credentials.usage({ id }), [id])
  return (
    <Dialog title={`Usage of ${name}`} kind="wide" onClose={onClose}>
      <Await of={usage}>
        {({ byDay, ...all }) =>
          all.sessions === 0 ? (
            <p>No agent has used this credential yet.</p>
          ) : (
            <Table label="Usage by day" head={['Day (UTC)', 'Sessions', 'Tokens in', 'Tokens out', 'Cost']}>
              <Used day="all" {...all} />
              {byDay.toReversed().map(each => (
                <Used key={each.day} {...each} />
              ))}
            </Table>
          )
        }
      </Await>
    </Dialog>
  )
}

interface UsedProps {
  day: string
  sessions: number
  inputTokens: number
  outputTokens: number
  costUsd: number
}

const Used = ({ day, sessions, inputTokens, outputTokens, costUsd }: UsedProps) => (
  <tr>
    <td>{day}</td>
    <td>{sessions}</td>
    <td>{inputTokens.toLocaleString()}</td>
    <td>{outputTokens.toLocaleString()}</td>
    <td>${costUsd.toFixed(2)}</td>
  </tr>
)
