import type { ReactNode } from 'react'
import { latestSession, type Session } from '../../../src/boardModel/openedCard.ts'
import { settings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { PausedByBudget } from '../budgets/PausedByBudget.tsx'
import { useCanWork } from '../card/canWork.ts'
import type { OpenedCardStore } from '../card/openedCard.ts'
import { AtWork } from './AtWork.tsx'
import { PinnedPlan } from './PlanList.tsx'
import { Questions } from './Questions.tsx'
import { RefusedHosts } from './RefusedHosts.tsx'
import { StatusLine } from './StatusLine.tsx'
import { taskOf } from '../../../src/boardModel/transcriptItems.ts'
import { Transcript } from './Transcript.tsx'
import { Waiting } from './Waiting.tsx'

const isPausedByBudget = ({ status, statusReason }: Session) => status === 'waiting' && statusReason === 'budget'

/** The transcript of a card, its open questions, and the message box. */
export function Talk({ opened, empty, children }: { opened: OpenedCardStore; empty: string; children: ReactNode }) {
  const { projectId, cardId } = opened
  const state = useStore(opened.state)
  const showsStatus = useStore(settings, ({ statusLine }) => statusLine)
  const session = latestSession(state)
  const isActive = session !== undefined && /queued|running|waiting/.test(session.status)
  // The plan of an active agent stays in view below the messages.
  const plan = isActive
    ? state.messages.findLast(({ role, sessionId }) => role === 'plan' && sessionId === session.sessionId)
    : undefined
  return (
    <div className="talk">
      <Transcript
        messages={plan ? state.messages.filter(message => message !== plan) : state.messages}
        sessions={state.sessions}
        task={state.card && state.card.kind !== 'assistant' ? taskOf(state.card) : undefined}
        older={state.older}
        onOlder={() => opened.readOlder()}
        onAtEnd={isAtEnd => {
          opened.isAtEnd = isAtEnd
        }}
        empty={empty}
      />
      <div className="talk-foot">
        {session && <AtWork session={session} messages={state.messages} />}
        {plan && <PinnedPlan text={plan.content} />}
        {session && isPausedByBudget(session) ? (
          <PausedByBudget projectId={projectId} cardId={cardId} />
        ) : (
          session && <Waiting session={session} />
        )}
        {session && <RefusedHosts projectId={projectId} session={session} />}
        <Questions
          projectId={projectId}
          cardId={cardId}
          questions={state.questions}
          mayAnswer={useCanWork(projectId)}
          onAnswered={() => opened.readQuestions()}
        />
        {session && showsStatus && <StatusLine session={session} />}
        {children}
      </div>
    </div>
  )
}
