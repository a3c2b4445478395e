import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Form } from '../ui/Form.tsx'
import { Check, useFields } from '../ui/Inputs.tsx'
import type { SectionProps } from './sectionProps.ts'

/** The steps that follow each merge of a card. */
export function AfterMerge({ project, onChange }: SectionProps) {
  const { values, bind } = useFields(project.afterMerge)
  const save = async () => {
    onChange(await client.projects.update({ id: project.id, afterMerge: values }))
    showMessage('Saved the steps after a merge.')
  }
  return (
    <div className="panel">
      <h3>After a merge</h3>
      <p className="hint">
        You can override these steps for each merge. A worktree with work that exists nowhere else is kept.
      </p>
      <Form submit="Save steps" onSubmit={save}>
        <Check label="Move the card to the first done column of its board" {...bind('moveToDone')} />
        <Check label="Remove the worktree of the card" {...bind('removeWorktree')} />
      </Form>
    </div>
  )
}
