import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { ColumnLimit } from '../board/ColumnLimit.tsx'
import { Check, Choice, TextArea, TextInput } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceForm } from '../ui/ResourceSection.tsx'
import type { SectionProps } from './sectionProps.ts'

type Template = Output<Contract['templates']['list']>[number]
type Column = Template['columns'][number]

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
export function TemplatesSection({ project: { id: projectId }, me }: SectionProps) {
  const list = useLoad(() => client.templates.list(), [])
  const boards = useLoad(() => client.boards.list({ projectId }), [projectId])
  const draftOf = (name: string, columns: readonly Column[]): Template => ({
    id: '',
    name,
    columns: [...columns],
    shared: false,
    builtin: false,
  })
  return (
    <ResourceSection
      of={list}
      label="Templates"
      about="A new board starts with the columns of a template. Your templates are available in all of your projects."
      row={(template, edit) => {
        const { id, name, builtin, shared, columns } = template
        // Only admins edit shared templates. The list does not include the owner, so the server checks it.
        const mayEdit = !builtin && (!shared || me.role !== 'user')
        return {
          name,
          badges: [builtin && 'built in', shared && 'shared with all'],
          about: columns.map(column => column.name).join(' → '),
          isEditable: mayEdit,
          remove: mayEdit && { text: 'Existing boards are unchanged.', run: () => client.templates.delete({ id }) },
          actions: [{ label: 'Copy', run: () => edit(draftOf(`${name} (copy)`, columns)) }],
        }
      }}
      form={formOf(me.role !== 'user')}
      tools={edit =>
        boards.value?.map(({ id, name }) => (
          <Button
            key={id}
            onClick={async () => edit(draftOf(name, await client.columns.list({ projectId, boardId: Number(id) })))}
          >
            From board {name}
          </Button>
        ))
      }
    />
  )
}

interface Values {
  name: string
  shared: boolean
  columns: readonly Column[]
}

const formOf = (mayShare: boolean): ResourceForm<Template, Values> => ({
  noun: 'template',
  isWide: true,
  initial: template => ({
    name: template?.name ?? '',
    shared: template?.shared ?? false,
    columns: template?.columns ?? usual,
  }),
  save: (values, template) => {
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
    return template?.id ? client.templates.update({ id: template.id, ...sent }) : client.templates.create(sent)
  },
  fields: ({ values, bind, setValues }) => {
    const change = (at: number, column?: Column) =>
      setValues(before => ({ ...before, columns: before.columns.toSpliced(at, 1, ...(column ? [column] : [])) }))
    return (
      <>
        <TextInput label="Name" required maxLength={200} {...bind('name')} />
        {mayShare && <Check label="Share with all users of this server" {...bind('shared')} />}
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
      </>
    )
  },
})

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
