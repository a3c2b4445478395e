import { useState } from 'react'
import { useProject } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { useCanWork } from './canWork.ts'
import { Heading } from './Heading.tsx'
import { useCard, useOpened } from './openedCard.ts'

/** The agent's branch, and the attached worktree if there is one. */
export function Worktree() {
  const opened = useOpened()
  const { gitBranch, worktreePath, useWorktree, kind } = useCard()
  const { projectId, cardId } = opened
  const isManager = useProject(projectId)?.role === 'admin'
  const canWork = useCanWork(projectId)
  const [asked, setAsked] = useState<'worktree' | 'base'>()
  const isNew = gitBranch === null && worktreePath === null
  if (isNew && (!canWork || kind !== 'kanban')) return null
  return (
    <section>
      <Heading>Branch</Heading>
      <p>
        {gitBranch === null ? <span className="dim">No branch yet.</span> : <code>{gitBranch}</code>}
        {worktreePath !== null && (
          <>
            {' '}
            in <code>{worktreePath}</code>
          </>
        )}
        <BasePoint />
      </p>
      {canWork && (
        <div className="tools">
          {isNew && useWorktree && <Button onClick={() => setAsked('base')}>Base…</Button>}
          {isNew && isManager && <Button onClick={() => setAsked('worktree')}>Attach worktree…</Button>}
          {worktreePath !== null && isManager && (
            <Button
              onClick={() =>
                confirm({
                  title: 'Detach worktree?',
                  text: 'The worktree’s folder is unchanged. The card’s agent no longer works in it.',
                  submit: 'Detach',
                  run: async () => {
                    await client.cards.detachWorktree({ projectId, cardId })
                    await opened.read()
                  },
                })
              }
            >
              Detach worktree
            </Button>
          )}
        </div>
      )}
      {asked === 'base' && <ChooseBase onClose={() => setAsked(undefined)} />}
      {asked === 'worktree' && (
        <Attach
          onClose={() => setAsked(undefined)}
          onAttach={async path => opened.setCard(await client.cards.attachWorktree({ projectId, cardId, path }))}
        />
      )}
    </section>
  )
}

/** The start point of the branch, if the card specifies one. */
function BasePoint() {
  const { projectId } = useOpened()
  const { base, baseCardId } = useCard()
  if (base === null && baseCardId === null) return null
  return (
    <>
      {' The base is '}
      {base === null ? (
        <a href={hrefOf({ name: 'card', projectId, cardId: baseCardId! })}>the branch of card #{baseCardId}</a>
      ) : (
        <code>{base}</code>
      )}
      .
    </>
  )
}

/** Asks for a branch, tag or commit, or a card by its number. */
function ChooseBase({ onClose }: { onClose: () => void }) {
  const { projectId, cardId, setCard } = useOpened()
  const { base, baseCardId } = useCard()
  const [text, setText] = useState(base ?? (baseCardId === null ? '' : `#${baseCardId}`))
  const save = async () => {
    const wanted = text.trim()
    const isCard = wanted.startsWith('#')
    setCard(
      await client.cards.update({
        projectId,
        cardId,
        base: isCard || wanted === '' ? null : wanted,
        baseCardId: isCard ? wanted.slice(1) : null,
      }),
    )
    onClose()
  }
  return (
    <FormDialog title="Base branch" onClose={onClose} submit="Save" onSubmit={save}>
      <Field
        label="Branch, tag, commit or card"
        hint="#12 is the branch of card 12. Empty: the branch that the project’s folder has checked out."
        field={text.trim().startsWith('#') ? 'baseCardId' : 'base'}
      >
        {props => <input {...props} spellCheck={false} value={text} onChange={({ target }) => setText(target.value)} />}
      </Field>
    </FormDialog>
  )
}

function Attach({ onClose, onAttach }: { onClose: () => void; onAttach: (path: string) => Promise<void> }) {
  const [path, setPath] = useState('')
  return (
    <FormDialog
      title="Attach worktree"
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
