import type { Session } from '../../../src/boardModel/openedCard.ts'
import { Status } from '../ui/Status.tsx'
import { plainText } from '../ui/plainText.ts'
import { tooltip } from '../ui/tooltip.ts'

const number = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })
const money = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD' })

/** The agent, its options and its usage, if the agent reports it. */
export function StatusLine({ session }: { session: Session }) {
  const { agent, profile, model, mode, effort, usage, status } = session
  const who = [agent, profile, model, mode, effort].filter(part => part !== null).map(plainText)
  return (
    <p className="status-line">
      <Status status={status} reason={session.statusReason === status ? null : session.statusReason} />
      <span>{who.join(' · ')}</span>
      {usage && <Used usage={usage} />}
      {session.sandbox && <span>{describeSandbox(session.sandbox)}</span>}
    </p>
  )
}

const describeSandbox = ({ kind, network }: NonNullable<Session['sandbox']>): string =>
  kind === 'none' ? 'no sandbox' : network === 'full' ? 'in a sandbox' : `in a sandbox, network: ${network}`

/** Tokens, cost and context of a session. */
export function Used({ usage }: { usage: NonNullable<Session['usage']> }) {
  const { inputTokens, outputTokens, exact, contextUsed, contextSize, costUsd } = usage
  const atLeast = exact ? '' : '≥ '
  const share = contextUsed !== null && contextSize ? Math.round((contextUsed / contextSize) * 100) : undefined
  return (
    <>
      {inputTokens + outputTokens > 0 && (
        <span {...tooltip(`${inputTokens.toLocaleString()} in, ${outputTokens.toLocaleString()} out`)}>
          {atLeast}
          {number.format(inputTokens)} in, {number.format(outputTokens)} out
        </span>
      )}
      {costUsd !== null && <span>{money.format(costUsd)}</span>}
      {share !== undefined && (
        <span {...tooltip(`${contextUsed!.toLocaleString()} of ${contextSize!.toLocaleString()} tokens`)}>
          {share}% of context
        </span>
      )}
    </>
  )
}
