import { useEffect, useRef, useState } from 'react'
import { loadProjects } from '../app/projects.ts'
import { navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Check, TextInput, useFields } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'

/** Creates a project for a folder on the server, and opens its board. */
export function NewProjectDialog({ onClose }: { onClose: () => void }) {
  const { values, bind, setValues } = useFields({ name: '', path: '', createFolder: false })
  const [isBrowsing, setBrowsing] = useState(false)
  const make = async () => {
    const { id } = await client.projects.create({ ...values, name: values.name.trim() || baseName(values.path) })
    await loadProjects()
    onClose()
    navigate({ name: 'board', projectId: id })
  }
  const choose = (path: string) => {
    setValues(before => ({
      ...before,
      path,
      // An unedited name follows the folder.
      name: before.name === '' || before.name === baseName(before.path) ? baseName(path) : before.name,
    }))
  }
  return (
    <FormDialog title="New project" onClose={onClose} submit="Create" onSubmit={make}>
      <TextInput
        label="Folder"
        required
        spellCheck={false}
        hint="An absolute path on the server, for example of your repository. The board adds no files to the folder."
        {...bind('path')}
      />
      <div className="tools">
        <Button icon="folder" aria-expanded={isBrowsing} onClick={() => setBrowsing(!isBrowsing)}>
          Browse folders
        </Button>
      </div>
      {isBrowsing && <Folders onChoose={choose} />}
      <TextInput label="Name" maxLength={200} placeholder={baseName(values.path)} {...bind('name')} />
      <Check label="Create the folder if it does not exist" {...bind('createFolder')} />
    </FormDialog>
  )
}

const baseName = (path: string): string => path.replace(/[/\\]+$/, '').replace(/^.*[/\\]/, '')

/** The folders of the server that the person can browse. Opening a folder selects it. */
function Folders({ onChoose }: { onChoose: (path: string) => void }) {
  const [at, setAt] = useState<{ path: string; isGitRepository: boolean }>()
  const listing = useLoad(() => client.filesystem.browse({ path: at?.path }), [at?.path])
  const list = useRef<HTMLUListElement>(null)
  const hasGone = useRef(false)
  // The pressed button disappears with its folder, so the focus moves to the new list.
  useEffect(() => {
    if (hasGone.current) list.current?.querySelector('button')?.focus()
  }, [listing.value])
  const go = (path: string | null, isGitRepository = false) => {
    hasGone.current = true
    setAt(path === null ? undefined : { path, isGitRepository })
    if (path !== null) onChoose(path)
  }
  return (
    <Await of={listing}>
      {({ path, parent, entries, truncated }) => {
        const folders = entries.filter(({ type, name }) => type === 'folder' && name !== '.git')
        const isRepository = at?.isGitRepository || entries.some(({ name }) => name === '.git')
        return (
          <div className="form">
            {path !== null && (
              <p role="status">
                <code>{path}</code>{' '}
                {isRepository
                  ? 'is a Git repository: each card can have a separate worktree.'
                  : 'is not a Git repository: agents work in the folder, without worktrees, diffs and merges.'}
              </p>
            )}
            <ul ref={list} className="folders" aria-label="Folders">
              {path !== null && (
                <li>
                  <button type="button" onClick={() => go(parent)}>
                    <Icon name="up" /> {parent === null ? 'All folders' : 'Parent folder'}
                  </button>
                </li>
              )}
              {folders.map(folder => (
                <li key={folder.path}>
                  <button type="button" onClick={() => go(folder.path, folder.isGitRepository)}>
                    <Icon name="folder" /> {folder.name}
                    {folder.isGitRepository && <span className="label">Git</span>}
                  </button>
                </li>
              ))}
            </ul>
            {truncated && <p className="hint">There are more folders. Type the path.</p>}
            {path === null && folders.length === 0 && (
              <p className="hint">You can’t browse folders here. Type the path.</p>
            )}
          </div>
        )
      }}
    </Await>
  )
}
