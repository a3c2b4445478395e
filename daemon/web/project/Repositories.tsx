import type { Repository } from '../../../src/contract/forges/repositories.ts'
import { announce, showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Form } from '../ui/Form.tsx'
import { TextInput, useFields } from '../ui/Inputs.tsx'
import type { SectionProps } from './sectionProps.ts'

/** The additional repositories of a project. */
export function Repositories({ project, mayManage, onChange }: SectionProps) {
  const { id, repositories } = project
  const change = async (changed: readonly Repository[]) =>
    onChange(await client.projects.update({ id, repositories: [...changed] }))
  const remove = ({ name }: Repository) =>
    confirm({
      title: `Remove ${name}?`,
      text: `Agents no longer get a worktree of ${name}. Commits of cards stay on their branches, and the folder remains.`,
      submit: 'Remove',
      run: async () => {
        await change(repositories.filter(each => each.name !== name))
        announce(`Removed ${name}.`)
      },
    })
  if (!mayManage && repositories.length === 0) return null
  return (
    <div className="panel">
      <h3>Other repositories</h3>
      <p className="hint">
        A card’s agent also gets a worktree of each of these repositories, on a branch of the same name. Changes there
        have a separate diff and are merged together.
      </p>
      {repositories.length > 0 && (
        <ul>
          {repositories.map(each => (
            <li key={each.name} className="tools">
              <span>
                <strong>{each.name}</strong> <code>{each.path}</code>
              </span>
              {mayManage && (
                <Button onClick={() => remove(each)} aria-label={`Remove ${each.name}`}>
                  {' '}
                  Remove{' '}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {mayManage && <AddRepository onAdd={added => change([...repositories, added])} />}
    </div>
  )
}

function AddRepository({ onAdd }: { onAdd: (added: Repository) => Promise<void> }) {
  const { values, bind, setValues } = useFields({ name: '', path: '' })
  return (
    <Form
      submit="Add repository"
      onSubmit={async () => {
        await onAdd(values)
        setValues({ name: '', path: '' })
        showMessage(`Added ${values.name}.`)
      }}
    >
      <TextInput label="Repository name" required maxLength={60} spellCheck={false} {...bind('name')} />
      <TextInput
        label="Repository folder"
        required
        spellCheck={false}
        hint="An absolute path on the server: the top folder of another Git repository."
        {...bind('path')}
      />
    </Form>
  )
}
