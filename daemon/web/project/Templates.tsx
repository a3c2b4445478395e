import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { ColumnLimit } from '../board/ColumnLimit.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Check, Choice, TextArea, TextInput, useFields } from '../ui/Inputs.tsx'
import { Rows, useEditing, type EditProps } from '../ui/Rows.tsx'
import type { SectionProps } from './sectionProps.ts'

type Template = Output<Contract['templates']['list']>[number]
type Column = Template['columns'][number]
/** The initial value of an editor: a template, or the columns of a board without a template. */
type Draft = Omit<Template, 'id'> & { id?: string }

const columnTypes = [
  ['backlog', 'backlog: waits'],
  ['active', 'active: an agent works'],
  ['done', 'done'],
  ['archive', 'archive'],
] as const
const emptyColumn: Column = { name: '', columnType: 'backlog', prompt: '', wipLimit: null, pull: false }
const usual: readonly Column[] = [
  { ...emptyColumn, name: 'Backlog' },
  { ...emptyColumn, name: 'In progress', columnType: 'active' },
  { ...emptyColumn, name: 'Done', columnType: 'done' },
]

/** Column templates for new boards. */
export function TemplatesSection(props: SectionProps) {
  const { project } = props
  const list = useLoad(() => client.templates.list(), [])
  const boards = useLoad(() => client.boards.list({ projectId: project.id }), [project.id])
  const editing = useEditing<Draft>(list)
  const begin = (name: string, columns: readonly Column[]) =>
    editing.edit({ name, columns: [...columns], shared: false, builtin: false })
  return (
    <>
      <p>A new board starts with the columns of a template. Your templates are available in all of your projects.</p>
      <div className="tools">
        <Button isMain icon="add" onClick={() => begin('', usual)}>
          New template
        </Button>
        {boards.value?.map(({ id, name }) => (
          <Button
            key={id}
            onClick={async () => begin(name, await client.columns.list({ projectId: project.id, boardId: Number(id) }))}
          >
            From board {name}
          </Button>
        ))}
      </div>
      <Rows of={list} label="Templates">
        {template => (
          <TemplateRow
            template={template}
            // Only admins edit shared templates. The list does not include the owner, so the server checks it.
            mayEdit={!template.builtin && (!template.shared || props.me.role !== 'user')}
            onEdit={() => editing.edit(template)}
            onCopy={() => begin(`${template.name} (copy)`, template.columns)}
            reload={list.reload}
          />
        )}
      </Rows>
      {editing.edited && <Edit {...props} {...editing.dialog} template={editing.edited} />}
    </>
  )
}

function TemplateRow({
  template,
  mayEdit,
  onEdit,
  onCopy,
  reload,
}: {
  template: Template
  mayEdit: boolean
  onEdit: () => void
  onCopy: () => void
  reload: () => Promise<void>
}) {
  const { name, builtin, shared, columns } = template
  const remove = () =>
    confirm({
      title: `Delete ${name}`,
      text: 'Existing boards are unchanged.',
      submit: 'Delete',
      run: async () => {
        await client.templates.delete({ id: template.id })
        await reload()
      },
    })
  return (
    <>
      <div className="what">
        <strong>{name}</strong> {builtin && <span className="label">built in</span>}{' '}
        {shared && <span className="label">shared with all</span>}
        <div className="dim">{columns.map(column => column.name).join(' → ')}</div>
      </div>
      <Button onClick={onCopy} aria-label={`Copy ${name}`}>
        Copy
      </Button>
      {mayEdit && (
        <>
          <Button onClick={onEdit} aria-label={`Edit ${name}`}>
            Edit
          </Button>
          <Button isDanger onClick={remove} aria-label={`Delete ${name}`}>
            Delete
          </Button>
        </>
      )}
    </>
  )
}

function Edit({ me, template, onClose, onSaved }: SectionProps & EditProps & { template: Draft }) {
  const { values, bind, setValues } = useFields({
    name: template.name,
    shared: template.shared,
    columns: template.columns as readonly Column[],
  })
  const change = (at: number, column?: Column) =>
    setValues(before => ({ ...before, columns: before.columns.toSpliced(at, 1, ...(column ? [column] : [])) }))
  const save = async () => {
    const sent = {
      ...values,
      columns: values.columns.map(({ name, columnType, prompt, wipLimit, pull }) => ({
        name,
        columnType,
        prompt,
        wipLimit,
        pull: pull && wipLimit !== null,
      })),
    }
    if (template.id === undefined) await client.templates.create(sent)
    else await client.templates.update({ id: template.id, ...sent })
    await onSaved()
  }
  return (
    <FormDialog
      title={template.id === undefined ? 'New template' : `Edit ${template.name}`}
      kind="wide"
      onClose={onClose}
      submit="Save"
      onSubmit={save}
    >
      <TextInput label="Name" required maxLength={200} {...bind('name')} />
      {me.role !== 'user' && <Check label="Share with all users of this server" {...bind('shared')} />}
      <ol className="rows">
        {values.columns.map((column, at) => (
          <li key={at}>
            <ColumnFields at={at} column={column} onChange={changed => change(at, changed)} />
          </li>
        ))}
      </ol>
      <Button
        icon="add"
        disabled={values.columns.length >= 50}
        onClick={() => change(values.columns.length, emptyColumn)}
      >
        Add column
      </Button>
    </FormDialog>
  )
}

function ColumnFields({ at, column, onChange }: { at: number; column: Column; onChange: (column?: Column) => void }) {
  const bind = <K extends keyof Column>(key: K) => ({
    value: column[key],
    onChange: (value: Column[K]) => onChange({ ...column, [key]: value }),
    field: `columns.${at}.${key}`,
  })
  return (
    <>
      <TextInput label={`Column ${at + 1}`} required maxLength={200} {...bind('name')} />
      <Choice label={`Type of column ${at + 1}`} options={columnTypes} {...bind('columnType')} />
      <TextArea label={`Prompt of column ${at + 1}`} rows={2} {...bind('prompt')} />
      {column.columnType !== 'archive' && (
        <ColumnLimit wipLimit={bind('wipLimit')} pull={bind('pull')} of={`, column ${at + 1}`} />
      )}
      <Button isPlain icon="trash" label={`Remove column ${at + 1}`} onClick={() => onChange(undefined)} />
    </>
  )
}
