import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import type { Column } from '../output/output.ts'

type Session = Output<Contract['assistant']['get']>

/** Formats the sandbox: `bubblewrap, network listed`, or `none` without a sandbox. */
const sandboxOf = ({ sandbox }: Pick<Session, 'sandbox'>): string | null =>
  sandbox && (sandbox.kind === 'none' ? 'none' : `${sandbox.kind}, network ${sandbox.network}`)

/** The fields of an agent's session. The summary is printed below them. */
export const sessionFields: Column<Session>[] = [
  { name: 'sessionId', header: 'ID', style: 'id', align: 'right', value: session => session.sessionId },
  { name: 'cardId', header: 'Card', value: session => session.cardId },
  { name: 'agent', value: session => session.agent },
  { name: 'model', value: session => session.model },
  { name: 'status', style: 'status', value: session => session.status },
  { name: 'statusReason', header: 'Reason', value: session => session.statusReason },
  { name: 'waitingFor', header: 'Waits for', value: session => session.waitingFor },
  { name: 'limitEndsAt', header: 'Limit ends', style: 'time', value: session => session.limitEndsAt },
  { name: 'notBefore', header: 'Waits until', style: 'time', value: session => session.notBefore },
  { name: 'retrying', header: 'It says', value: session => session.retrying },
  { name: 'silentSince', header: 'Silent since', style: 'time', value: session => session.silentSince },
  { name: 'startedAt', header: 'Started', style: 'time', value: session => session.startedAt },
  { name: 'endedAt', header: 'Ended', style: 'time', value: session => session.endedAt },
  { name: 'tokens', header: 'Tokens', value: usageOf },
  { name: 'sandbox', value: sandboxOf },
  { name: 'branch', value: session => session.branch },
  { name: 'baseCommit', header: 'Base', value: session => session.baseCommit },
]

/** Prints the known fields of a session and its summary. */
export async function printSession({ out }: Context, session: Session): Promise<void> {
  const known = sessionFields.filter(({ name, value }) => name === 'status' || (value(session) ?? null) !== null)
  await out.record(session, out.json ? sessionFields : known, { body: session.summary ?? undefined })
}

/** Formats the usage: `120 (100 in, 20 out), context 1%, $0.01`, or `at least 120` if the agent does not report all tokens. */
function usageOf({ usage }: Pick<Session, 'usage'>): string | null {
  if (!usage) return null
  const { inputTokens, outputTokens, exact, contextUsed, contextSize, costUsd } = usage
  return [
    `${exact ? '' : 'at least '}${inputTokens + outputTokens} (${inputTokens} in, ${outputTokens} out)`,
    ...(contextUsed !== null && contextSize ? [`context ${Math.round((contextUsed / contextSize) * 100)}%`] : []),
    ...(costUsd === null ? [] : [`$${costUsd.toFixed(2)}`]),
  ].join(', ')
}
