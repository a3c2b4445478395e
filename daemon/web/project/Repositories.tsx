import type { Repository } from '../../../src/contract/forges/repositories.ts'
import type { Loaded } from '../app/load.ts'
import { client } from '../app/session.ts'
import { TextInput } from '../ui/Inputs.tsx'
import { ResourceSection } from '../ui/ResourceSection.tsx'
import type { SectionProps } from './sectionProps.ts'

/** The additional repositories of a project. */
export function Repositories({ project, mayManage, onChange }: SectionProps) {
  const { id, repositories } = project
  if (!mayManage && repositories.length === 0) return null
  const change = async (changed: readonly Repository[]) =>
    onChange(await client.projects.update({ id, repositories: [...changed] }))
  const list: Loaded<Array<Repository & { id: string }>> = {
    value: repositories.map(each => ({ id: each.name, ...each })),
    error: undefined,
    isLoading: false,
    reload: async () => undefined,
    set: () => undefined,
  }
  return (
    <>
      <h3>Other repositories</h3>
      <ResourceSection
        of={list}
        label="Other repositories"
        about="A card’s agent also gets a worktree of each of these repositories. Changes there have a separate diff and are merged together."
        empty="No other repositories."
        mayEdit={mayManage}
        row={({ name, path }) => ({
          name,
          about: <code>{path}</code>,
          isEditable: false,
          remove: mayManage && {
            verb: 'Remove',
            title: `Remove ${name}?`,
            text: `Agents no longer get a worktree of ${name}. Commits of cards stay on their branches, and the folder remains.`,
            run: () => change(repositories.filter(each => each.name !== name)),
          },
        })}
        form={{
          noun: 'repository',
          initial: () => ({ name: '', path: '' }),
          save: added => change([...repositories, added]),
          fields: ({ bind }) => (
            <>
              <TextInput label="Repository name" required maxLength={60} spellCheck={false} {...bind('name')} />
              <TextInput
                label="Repository folder"
                required
                spellCheck={false}
                hint="An absolute path on the server: the top folder of another Git repository."
                {...bind('path')}
              />
            </>
          ),
        }}
      />
    </>
  )
}
