import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { useProjectEvents } from '../app/useProjectEvents.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Printed } from '../ui/Printed.tsx'
import { Time } from '../ui/Time.tsx'
import { usePoll } from '../ui/usePoll.ts'
import { Heading } from './Heading.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened } from './openedCard.ts'

type CardGate = Output<Contract['proofs']['list']>[number]

const pollMs = 1000
/** The class and the word of each result. A result for other files no longer counts. */
const shownStatus = {
  none: ['idle', 'open'],
  queued: ['queued', 'queued'],
  running: ['running', 'running'],
  passed: ['completed', 'passed'],
  failed: ['failed', 'failed'],
  error: ['failed', 'error'],
  superseded: ['idle', 'outdated'],
} as const

function statusOf({ passed, proof }: CardGate): keyof typeof shownStatus {
  if (proof === null) return passed ? 'passed' : 'none'
  return !passed && proof.status === 'passed' ? 'superseded' : proof.status
}

/** The gates ahead of the card, with their results. */
export function Gates() {
  const { projectId } = useOpened()
  const { id: cardId, hasActiveAgent, columnId } = useCard()
  const place = { projectId, cardId }
  const list = useLoad(() => client.proofs.list(place), [projectId, cardId, hasActiveAgent, columnId])
  const canWork = useCanWork(projectId)
  const [shown, setShown] = useState<string>()
  useProjectEvents(projectId, list.reload, ({ type, data }) => {
    const isMine = type === 'review.submitted' || type === 'proof.updated'
    return type.startsWith('gate.') || (isMine && (data as { cardId: string }).cardId === cardId)
  })
  const gates = list.value ?? []
  if (gates.length === 0) return null
  const runnable = gates.filter(({ gate }) => gate.kind !== 'approval')
  const due = runnable.filter(({ passed }) => !passed)
  const reviews = due.filter(({ gate }) => gate.kind === 'review').length
  const isOpen = gates.some(({ proof }) => proof?.status === 'queued' || proof?.status === 'running')
  const run = async () => {
    await client.proofs.check(place)
    await list.reload()
  }
  const opened = gates.find(({ gate }) => gate.id === shown)
  return (
    <section>
      <Heading>Gates</Heading>
      <ul className="gates">
        {gates.map(each => (
          <GateRow key={each.gate.id} of={each} onShow={() => setShown(each.gate.id)} />
        ))}
      </ul>
      {canWork && runnable.length > 0 && (
        <div className="tools">
          {isOpen ? (
            <Button icon="stop" onClick={() => client.proofs.cancel(place)}>
              Stop gates
            </Button>
          ) : (
            <Button icon="run" disabled={hasActiveAgent || due.length === 0} onClick={run}>
              {reviews === 0 ? 'Run gates' : `Run gates and ${reviews === 1 ? 'an agent' : `${reviews} agents`}`}
            </Button>
          )}
        </div>
      )}
      {opened?.proof && (
        <Log {...place} name={opened.gate.name} proofId={opened.proof.id} onClose={() => setShown(undefined)} />
      )}
    </section>
  )
}

function GateRow({ of, onShow }: { of: CardGate; onShow: () => void }) {
  const { gate, proof, reason, approvedBy } = of
  const [className, word] = shownStatus[statusOf(of)]
  return (
    <li>
      <span className={`status ${className}`}>{word}</span> <strong>{gate.name}</strong>{' '}
      <span className="dim">{reason ?? proof?.summary ?? `Approved by ${approvedBy.join(', ')}`}</span>
      {proof && (
        <Button isPlain onClick={onShow} aria-label={`Output of ${gate.name}`}>
          Output
        </Button>
      )}
    </li>
  )
}

/** The output of a gate's command or the transcript of its reviewer, live while it runs. */
function Log({
  name,
  onClose,
  ...place
}: {
  projectId: string
  cardId: string
  proofId: string
  name: string
  onClose: () => void
}) {
  const log = useLoad(() => client.proofs.get(place), [place.proofId])
  usePoll(log.value?.status === 'running' || log.value?.status === 'queued', pollMs, log.reload)
  return (
    <Dialog title={`Output of ${name}`} kind="wide" onClose={onClose}>
      {log.value && (
        <>
          <p className="dim">
            {log.value.status}
            {log.value.exitCode !== null && ` · exit code ${log.value.exitCode}`}
            {log.value.startedAt && (
              <>
                {' · '}
                <Time at={log.value.startedAt} />
              </>
            )}
          </p>
          <Printed label={`Output of ${name}`} output={log.value.output} isCut={log.value.outputStart > 0} />
        </>
      )}
    </Dialog>
  )
}
