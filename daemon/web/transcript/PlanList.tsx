import { Markdown } from '../ui/Markdown.tsx'
import { plainText } from '../ui/plainText.ts'

const states = { x: 'done', '~': 'doing', ' ': 'open' } as const
const words = { done: 'done: ', doing: 'in progress: ', open: '' } as const

/** The steps of a plan. Undefined if the text is not a list of steps. */
function stepsOf(text: string) {
  const lines = plainText(text)
    .split('\n')
    .map(line => /^- \[([x~ ])\] (.*)$/.exec(line))
  if (lines.some(line => line === null)) return undefined
  const steps = lines.map(line => ({ state: states[line![1] as keyof typeof states], text: line![2]! }))
  return { steps, done: `${steps.filter(({ state }) => state === 'done').length} of ${steps.length} done` }
}

/** An agent's plan, with completed steps checked off. */
export function PlanList({ text }: { text: string }) {
  const plan = stepsOf(text)
  if (!plan) return <Markdown text={text} />
  return (
    <div className="plan-steps">
      <p className="speaker">
        <strong>Plan</strong> {plan.done}
      </p>
      <Steps {...plan} />
    </div>
  )
}

/** The plan of an agent at work, folded to its current step. */
export function PinnedPlan({ text }: { text: string }) {
  const plan = stepsOf(text)
  const current =
    plan?.steps.find(({ state }) => state === 'doing') ?? plan?.steps.find(({ state }) => state === 'open')
  return (
    <details className="plan-steps">
      <summary>
        <strong>Plan</strong> <span className="dim">{plan?.done}</span> <span className="glimpse">{current?.text}</span>
      </summary>
      {plan ? <Steps {...plan} /> : <Markdown text={text} />}
    </details>
  )
}

const Steps = ({ steps }: NonNullable<ReturnType<typeof stepsOf>>) => (
  <ul>
    {steps.map(({ state, text }, at) => (
      <li key={at} className={`is-${state}`}>
        <span className="tick" aria-hidden="true">
          {state === 'done' ? '✓' : state === 'doing' ? '▸' : '○'}
        </span>
        <span>
          {words[state] !== '' && <span className="visually-hidden">{words[state]}</span>}
          {text}
        </span>
      </li>
    ))}
  </ul>
)
