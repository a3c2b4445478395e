import { useLoad } from '../app/load.ts'
import { navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Choice, TextArea, TextInput, useFields } from '../ui/Inputs.tsx'
import { ColumnLimit } from './ColumnLimit.tsx'
import type { BoardSession } from './boardSession.ts'

const types = [
  ['backlog', 'Backlog: cards wait'],
  ['active', 'Active: agents start'],
  ['done', 'Done'],
  ['archive', 'Archive'],
] as const

interface FormProps {
  session: BoardSession
  onClose: () => void
}

const columnOrNull = (id: string): number | null => (id === '' ? null : Number(id))
const choicesOf = (of: readonly { id: string; name: string }[] = []) => of.map(({ id, name }) => [id, name] as const)

/** Creates or edits a column. Its type cannot be changed later. */
export function ColumnForm({ session, columnId, onClose }: FormProps & { columnId?: string }) {
  const { projectId } = session
  const { columns, boardId } = session.state.get()
  const column = columns.find(({ id }) => id === columnId)
  const { values, bind } = useFields({
    name: column?.name ?? '',
    columnType: column?.columnType ?? 'backlog',
    prompt: column?.prompt ?? '',
    wipLimit: column?.wipLimit ?? null,
    pull: column?.pull ?? false,
    agent: column?.agent ?? '',
    mergedColumnId: column?.mergedColumnId ?? '',
    closedColumnId: column?.closedColumnId ?? '',
  })
  const providers = useLoad(() => client.agents.providers(), [])
  const save = async () => {
    const { columnType, ...rest } = values
    const changed = {
      projectId,
      ...rest,
      pull: rest.pull && rest.wipLimit !== null,
      agent: rest.agent || null,
      mergedColumnId: columnOrNull(rest.mergedColumnId),
      closedColumnId: columnOrNull(rest.closedColumnId),
    }
    if (column) await client.columns.update({ ...changed, columnId: column.id })
    else await client.columns.create({ ...changed, columnType, boardId: Number(boardId) })
    onClose()
  }
  return (
    <FormDialog
      title={column ? `Column ${column.name}` : 'New column'}
      submit={column ? 'Save' : 'Create'}
      onSubmit={save}
      onClose={onClose}
    >
      <TextInput label="Name" required {...bind('name')} />
      <Choice
        label="Type"
        hint={column && 'The type of an existing column cannot be changed.'}
        disabled={column !== undefined}
        options={types}
        {...bind('columnType')}
      />
      <TextArea label="Prompt" hint="Additional prompt for each agent in this column." rows={4} {...bind('prompt')} />
      {values.columnType !== 'archive' && <ColumnLimit wipLimit={bind('wipLimit')} pull={bind('pull')} />}
      <Choice
        isSearched
        label="Agent"
        options={[['', "The project's agent"], ...choicesOf(providers.value)]}
        {...bind('agent')}
      />
      <AfterRequests columns={columns.filter(({ id }) => id !== columnId)} bind={bind} />
    </FormDialog>
  )
}

/** The fields for the columns to which cards move when their pull requests are merged or closed. */
function AfterRequests({
  columns,
  bind,
}: {
  columns: ReadonlyArray<{ id: string; name: string; columnType: string }>
  bind: ReturnType<typeof useFields<{ mergedColumnId: string; closedColumnId: string }>>['bind']
}) {
  const others = choicesOf(columns.filter(({ columnType }) => columnType !== 'active'))
  return (
    <>
      <Choice
        label="After a pull request is merged"
        options={[['', 'To the first done column'], ...others]}
        {...bind('mergedColumnId')}
      />
      <Choice
        label="After a pull request is closed"
        options={[['', 'Keep the card here'], ...others]}
        {...bind('closedColumnId')}
      />
    </>
  )
}

/** Creates or renames a board. */
export function BoardForm({ session, boardId, onClose }: FormProps & { boardId?: string }) {
  const { projectId } = session
  const board = session.state.get().boards?.find(({ id }) => id === boardId)
  const { values, bind } = useFields({ name: board?.name ?? '', templateId: '' })
  const templates = useLoad(() => client.templates.list(), [])
  const save = async () => {
    const { name, templateId } = values
    if (board) await client.boards.update({ projectId, boardId: board.id, name })
    else {
      const made = await client.boards.create({
        projectId,
        name,
        ...(templateId && { templateId: Number(templateId) }),
      })
      navigate({ name: 'board', projectId, boardId: made.id })
    }
    onClose()
  }
  return (
    <FormDialog
      title={board ? `Rename ${board.name}` : 'New board'}
      submit={board ? 'Rename' : 'Create'}
      onSubmit={save}
      onClose={onClose}
    >
      <TextInput label="Name" required {...bind('name')} />
      {!board && (
        <Choice
          label="Columns"
          hint="A template for the columns."
          options={[['', 'Default columns'], ...choicesOf(templates.value)]}
          {...bind('templateId')}
        />
      )}
    </FormDialog>
  )
}
