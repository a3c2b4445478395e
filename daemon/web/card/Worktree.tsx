import { useState } from 'react'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Heading } from './Heading.tsx'
import { useCard, useOpened } from './openedCard.ts'

/** Where the card's agent works: its branch, and a worktree of a person's own that is attached. */
export function Worktree() {
  const opened = useOpened()
  const { gitBranch, worktreePath, kind } = useCard()
  const { projectId, cardId } = opened
  const isManager = useProject(projectId)?.role === 'admin'
  const [isAsking, setAsking] = useState(false)
  if (gitBranch === null && worktreePath === null && (!isManager || kind !== 'kanban')) return null
  return (
    <section>
      <Heading>Branch</Heading>
      <p>
        {gitBranch === null ? <span className="dim">It has none yet.</span> : <code>{gitBranch}</code>}
        {worktreePath !== null && (
          <>
            {' '}
            in <code>{worktreePath}</code>
          </>
        )}
      </p>
      {isManager && (
        <div className="tools">
          {worktreePath === null ? (
            gitBranch === null && <Button onClick={() => setAsking(true)}>Attach a worktree…</Button>
          ) : (
            <Button
              onClick={() =>
                confirm({
                  title: 'Detach the worktree?',
                  text: 'Its folder stays as it is. The card’s agent does not work in it any more.',
                  submit: 'Detach',
                  run: async () => {
                    await client.cards.detachWorktree({ projectId, cardId })
                    await opened.read()
                  },
                })
              }
            >
              Detach the worktree
            </Button>
          )}
        </div>
      )}
      {isAsking && (
        <Attach
          onClose={() => setAsking(false)}
          onAttach={async path => opened.setCard(await client.cards.attachWorktree({ projectId, cardId, path }))}
        />
      )}
    </section>
  )
}

function Attach({ onClose, onAttach }: { onClose: () => void; onAttach: (path: string) => Promise<void> }) {
  const [path, setPath] = useState('')
  return (
    <FormDialog
      title="Attach a worktree"
      onClose={onClose}
      submit="Attach"

      onSubmit={async () => {
        await onAttach(path.trim())
        onClose()
      }}
    >
      <Field
        label="Folder on the server"
        hint="A worktree of the project’s repository, as an absolute path."
        field="path"
      >
        {props => <input {...props} required value={path} onChange={({ target }) => setPath(target.value)} />}
      </Field>
    </FormDialog>
  )
}
