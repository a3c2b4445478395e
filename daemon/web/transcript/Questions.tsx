import { useEffect, useId } from 'react'
import { hasSeveralAnswers } from '../../../src/contract/agents/questionOptions.ts'
import { announce } from '../app/messages.ts'
import { client } from '../app/session.ts'
import type { Question } from '../card/openedCard.ts'
import { Button } from '../ui/Button.tsx'
import { useDraft } from '../ui/draft.ts'
import { Field } from '../ui/Field.tsx'
import { Markdown } from '../ui/Markdown.tsx'
import { plainText } from '../ui/plainText.ts'

interface QuestionsProps {
  projectId: string
  cardId: string
  questions: readonly Question[]
  /** Whether the person can answer. Others only see the questions. */
  mayAnswer: boolean
  /** Reads the open questions. */
  onAnswered: () => Promise<unknown>
}

/** The decisions that an agent waits for, each with its possible answers. */
export const Questions = ({ questions, ...rest }: QuestionsProps) => (
  <>
    {questions.map(question => (
      <Asked key={question.requestId} question={question} {...rest} />
    ))}
  </>
)

const inWords = [{ id: undefined, name: 'Let the agent decide', kind: 'reject_once' }]
const onceOnly = [
  { id: undefined, name: 'Allow', kind: 'allow_once' },
  { id: undefined, name: 'Reject', kind: 'reject_once' },
]

function Asked({
  projectId,
  cardId,
  question,
  mayAnswer,
  onAnswered,
}: Omit<QuestionsProps, 'questions'> & { question: Question }) {
  const { requestId, title, options, takesText } = question
  const [feedback, setFeedback] = useDraft(`feedback ${requestId}`)
  const id = useId()
  const words = plainText(title)
  useEffect(() => announce(`Question from the agent: ${words}`), [requestId])
  const said = feedback.trim()
  const send = async (given: { approved: boolean; optionId?: string; answer?: string; feedback?: string }) => {
    await client.agents.approvePlan({ projectId, cardId, requestId, ...given })
    setFeedback('')
    announce(`Answered: ${words}`)
    await onAnswered()
  }
  const choose = (optionId: string | undefined, kind: string) =>
    send({ approved: !kind.startsWith('reject'), optionId, ...(said && { feedback: said }) })
  const choices = takesText ? [...options, ...inWords] : options.length > 0 ? options : onceOnly
  const label = takesText ? 'Your answer' : 'Feedback for the agent'
  return (
    <section className="agent-question" aria-labelledby={id}>
      <p id={id}>
        <strong>Question from the agent:</strong> {words}
      </p>
      <AboutIt question={question} />
      {mayAnswer && (
        <>
          <Field label={label} isLabelHidden>
            {props => (
              <textarea
                {...props}
                rows={1}
                placeholder={takesText ? label : 'Optional feedback'}
                value={feedback}
                onChange={({ target }) => setFeedback(target.value)}
              />
            )}
          </Field>
          <div className="buttons answers">
            {takesText && (
              <Button isMain disabled={said === ''} onClick={() => send({ approved: true, answer: said })}>
                Send answer
              </Button>
            )}
            {choices.map(({ id: optionId, name, kind }) => (
              <Button
                key={optionId ?? kind}
                isMain={kind === 'allow_once' && !hasSeveralAnswers(options) && !takesText}
                isDanger={kind.startsWith('reject') && !takesText}
                onClick={() => choose(optionId, kind)}
              >
                {plainText(name)}
              </Button>
            ))}
          </div>
        </>
      )}
    </section>
  )
}

/** The command to run, its files, and the plan. */
const AboutIt = ({ question: { title, command, paths, plan, takesText } }: { question: Question }) => (
  <>
    {command !== null && command !== title && (
      <>
        <p className="part">Command</p>
        <pre className="printed">{plainText(command)}</pre>
      </>
    )}
    {paths.length > 0 && (
      <p>
        Files{' '}
        {paths.map((path, at) => (
          <code key={at}>{plainText(path)} </code>
        ))}
      </p>
    )}
    {plan !== null && (
      <div className="asked-plan" tabIndex={0} role="region" aria-label={takesText ? 'Question' : 'Plan'}>
        <Markdown text={plan} />
      </div>
    )}
  </>
)
