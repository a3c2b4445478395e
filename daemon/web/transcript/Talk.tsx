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
import { joinStream } from './joinStream.ts'
import { Transcript } from './Transcript.tsx'
import { Waiting } from './Waiting.tsx'

const isPausedByBudget = ({ status, statusReason }: Session) => status === 'waiting' && statusReason === 'budget'

interface TalkProps {
  opened: OpenedCardStore
  label?: string
  empty: string
  /** The content above the messages, which scrolls with them. */
  head?: ReactNode
  follows?: boolean
  showsMessages?: boolean
  /** The entries to show between the messages. */
  others?: Parameters<typeof joinStream>[1]
  children: ReactNode
}

const none = { messages: [], lines: [], older: 'none', onOlder: async () => {} } as const

/** The transcript of a card, its open questions, and the message box. */
export function Talk({
  opened,
  label,
  empty,
  head,
  follows,
  showsMessages = true,
  others = none,
  children,
}: TalkProps) {
  const { projectId, cardId } = opened
  const state = useStore(opened.state)
  const showsStatus = useStore(settings, ({ statusLine }) => statusLine)
  const session = latestSession(state)
  const isActive = session !== undefined && /queued|running|waiting/.test(session.status)
  // The plan of an active agent stays in view below the messages.
  const plan = isActive
    ? state.messages.findLast(({ role, sessionId }) => role === 'plan' && sessionId === session.sessionId)
    : undefined
  const messages = plan ? state.messages.filter(message => message !== plan) : state.messages
  return (
    <div className="talk">
      <Transcript
        label={label}
        head={head}
        follows={follows}
        {...joinStream(
          showsMessages ? { messages, older: state.older, onOlder: () => opened.readOlder() } : none,
          others,
        )}
        sessions={state.sessions}
        task={state.card && state.card.kind !== 'assistant' ? taskOf(state.card) : undefined}
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
