import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { Check } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { Heading } from './Heading.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened } from './openedCard.ts'

type Step = Output<Contract['cards']['getPipeline']>['steps'][number]

/** The columns that a card moves through, one agent after the other. */
export const Pipeline = () => (
  <section>
    <Heading>Pipeline</Heading>
    <Steps />
  </section>
)

function Steps() {
  const { projectId, cardId } = useOpened()
  const card = useCard()
  const canWork = useCanWork(projectId)
  const [isEditing, setEditing] = useState(false)
  const read = useLoad(async () => {
    const [pipeline, columns] = await Promise.all([
      client.cards.getPipeline({ projectId, cardId }),
      client.columns.list({ projectId, boardId: card.boardId }),
    ])
    return { pipeline, columns: columns.filter(({ columnType }) => columnType === 'active') }
  }, [cardId])
  return (
    <Await of={read}>
      {({ pipeline, columns }) =>
        isEditing ? (
          <EditSteps
            columns={columns}
            steps={pipeline.steps}
            onClose={() => setEditing(false)}
            onSave={async steps => {
              read.set({ columns, pipeline: await client.cards.setPipeline({ projectId, cardId, steps: [...steps] }) })
              setEditing(false)
            }}
          />
        ) : (
          <>
            {pipeline.steps.length === 0 && (
              <p className="dim">The card stays in its column when the agent has finished.</p>
            )}
            <ol className="steps">
              {pipeline.steps.map(step => (
                <li key={step.columnId} aria-current={step.columnId === card.columnId ? 'step' : undefined}>
                  <strong>{step.columnName}</strong>{' '}
                  <span className="dim">{step.approval === 'manual' ? 'after approval' : 'automatically'}</span>
                  {step.prompt !== '' && <p>{step.prompt}</p>}
                </li>
              ))}
            </ol>
            {canWork && (
              <div className="tools">
                <Button onClick={() => setEditing(true)}>Edit pipeline</Button>
                {pipeline.steps.length > 0 && card.status === 'completed' && (
                  <Button isMain onClick={() => client.agents.approveAuto({ projectId, cardId })}>
                    Approve next step
                  </Button>
                )}
              </div>
            )}
          </>
        )
      }
    </Await>
  )
}

interface EditStepsProps {
  columns: readonly { id: string; name: string }[]
  steps: readonly Step[]
  onClose: () => void
  onSave: (steps: readonly Omit<Step, 'columnName'>[]) => Promise<void>
}

/** Each active column of the board can be a step once. */
function EditSteps({ columns, steps: before, onClose, onSave }: EditStepsProps) {
  const [steps, setSteps] = useState(before)
  const free = columns.filter(({ id }) => steps.every(({ columnId }) => columnId !== id))
  return (
    <Form
      submit="Save pipeline"
      onCancel={onClose}
      onSubmit={() => onSave(steps.map(({ columnId, prompt, approval }) => ({ columnId, prompt, approval })))}
    >
      <ol className="steps">
        {steps.map((step, at) => (
          <EditStep
            key={step.columnId}
            step={step}
            isFirst={at === 0}
            isLast={at === steps.length - 1}
            onChange={fields => setSteps(steps.map((each, index) => (index === at ? { ...each, ...fields } : each)))}
            onMove={by => setSteps(steps.toSpliced(at, 1).toSpliced(at + by, 0, step))}
            onRemove={() => setSteps(steps.toSpliced(at, 1))}
          />
        ))}
      </ol>
      <div className="tools">
        {free.map(({ id, name }) => (
          <Button
            key={id}
            icon="add"
            onClick={() => setSteps([...steps, { columnId: id, columnName: name, prompt: '', approval: 'auto' }])}
          >
            {name}
          </Button>
        ))}
      </div>
    </Form>
  )
}

interface EditStepProps {
  step: Step
  isFirst: boolean
  isLast: boolean
  onChange: (fields: Partial<Step>) => void
  onMove: (by: number) => void
  onRemove: () => void
}

function EditStep({ step, isFirst, isLast, onChange, onMove, onRemove }: EditStepProps) {
  const { columnName, prompt, approval } = step
  return (
    <li>
      <div className="section-head">
        <strong>{columnName}</strong>
        <span>
          <Button
            isPlain
            icon="up"
            label={`Move ${columnName} earlier`}
            disabled={isFirst}
            onClick={() => onMove(-1)}
          />
          <Button isPlain icon="down" label={`Move ${columnName} later`} disabled={isLast} onClick={() => onMove(1)} />
          <Button isPlain icon="trash" label={`Remove ${columnName}`} onClick={onRemove} />
        </span>
      </div>
      <Field label="Prompt for this column">
        {props => (
          <textarea {...props} rows={2} value={prompt} onChange={({ target }) => onChange({ prompt: target.value })} />
        )}
      </Field>
      <Check
        label="Requires approval before the move"
        value={approval === 'manual'}
        onChange={isManual => onChange({ approval: isManual ? 'manual' : 'auto' })}
      />
    </li>
  )
}
