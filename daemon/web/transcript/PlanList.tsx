import { Markdown } from '../ui/Markdown.tsx'
import { plainText } from '../ui/plainText.ts'

const states = { x: 'done', '~': 'doing', ' ': 'open' } as const
const words = { done: 'done: ', doing: 'in progress: ', open: '' } as const

/** An agent's plan, with completed steps checked off. */
export function PlanList({ text }: { text: string }) {
  const steps = plainText(text)
    .split('\n')
    .map(line => /^- \[([x~ ])\] (.*)$/.exec(line))
  if (steps.some(step => step === null)) return <Markdown text={text} />
  const done = steps.filter(step => step![1] === 'x').length
  return (
    <div className="plan-steps">
      <p className="speaker">
        <strong>Plan</strong> {done} of {steps.length} done
      </p>
      <ul>
        {steps.map((step, at) => {
          const state = states[step![1] as keyof typeof states]
          return (
            <li key={at} className={`is-${state}`}>
              <span className="tick" aria-hidden="true">
                {state === 'done' ? '✓' : state === 'doing' ? '▸' : '○'}
              </span>
              <span>
                {words[state] !== '' && <span className="visually-hidden">{words[state]}</span>}
                {step![2]}
              </span>
            </li>
          )
        })}
      </ul>
    </div>
  )
}
