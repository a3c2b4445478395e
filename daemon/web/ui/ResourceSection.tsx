import { useState, type ReactNode } from 'react'
import type { Loaded } from '../app/load.ts'
import { announce } from '../app/messages.ts'
import { confirm } from './confirm.tsx'
import type { Question } from './ConfirmDialog.tsx'
import { Button } from './Button.tsx'
import { FormDialog } from './FormDialog.tsx'
import { useFields, type Fields } from './Inputs.tsx'
import { Menu, type MenuItem } from './Menu.tsx'
import { Await } from './Page.tsx'
import { useSearchedRows } from './settingsSearch.ts'

/** An action of a row, in the row's menu. The list is reloaded after the action. */
export interface ResourceAction extends Omit<MenuItem, 'isOn' | 'keys'> {
  /** Asks for confirmation first. The submit button repeats the label of the action, unless `submit` is set. */
  confirm?: Omit<Question, 'run' | 'submit'> & { submit?: string }
}

const pastTense = {
  Delete: 'Deleted',
  Leave: 'Left',
  Remove: 'Removed',
  Revoke: 'Revoked',
  Withdraw: 'Withdrew',
}

/** The action that removes a resource, after a confirmation. */
interface Removal {
  /** Default: "Delete", which destroys the resource. */
  verb?: keyof typeof pastTense
  /** Default: the verb and the name of the row. */
  title?: string
  /** The consequences: what is lost and what remains. */
  text: string
  run: () => Promise<unknown>
}

/** The content of a row. */
export interface ResourceRow {
  /** The name of the resource, also in the accessible names of its actions. */
  name: string
  /** Shown instead of the name. */
  title?: ReactNode
  badges?: ReadonlyArray<string | false | undefined>
  status?: ReactNode
  /** The secondary text. */
  about?: ReactNode
  error?: string | false | null
  /** More content, over the whole width of the row. */
  details?: ReactNode
  /** The most frequent action, or a control that changes the resource in place. */
  control?: ReactNode
  actions?: ReadonlyArray<ResourceAction | false | undefined>
  remove?: Removal | false
  /** Whether the person can edit the resource, if the section has a form. Default: true. */
  isEditable?: boolean
}

/** The form that creates and edits a resource. */
export interface ResourceForm<T, V extends object> {
  /** The name of one resource: "webhook". */
  noun: string
  /** Returns the values of the form. Without a resource, the values of a new one. */
  initial: (resource: T | undefined) => V
  fields: (form: Fields<V>, resource: T | undefined) => ReactNode
  /** @throws errors to display: field errors at their fields, all others below */
  save: (values: V, resource: T | undefined) => Promise<unknown>
  isWide?: boolean
  /** The title of the dialog that edits a resource. Default: "Edit" and the name of the row. */
  editTitle?: (resource: T) => string
}

interface ResourceSectionProps<T, V extends object> {
  of: Loaded<T[]>
  /** The accessible name of the list. */
  label: string
  /** One sentence about the resources. */
  about?: ReactNode
  /** The text of an empty list. */
  empty?: string
  /** `edit` opens the form for a resource. A resource without an ID is a draft of a new one. */
  row: (resource: T, edit: (resource: T) => void) => ResourceRow
  form?: ResourceForm<T, V>
  /** Whether the person can create and edit resources with the form. */
  mayEdit?: boolean
  /** The buttons next to "New". */
  tools?: (edit: (resource: T) => void) => ReactNode
  /** Saves a new order. Returns the list in this order. */
  reorder?: (ids: string[]) => Promise<T[]>
  /** The content after the last row. */
  after?: ReactNode
}

/** A list of resources of one kind, with a form in a dialog that creates and edits them. */
export function ResourceSection<T extends { id: string }, V extends object = object>(
  props: ResourceSectionProps<T, V>,
) {
  const { of, label, about, form, mayEdit = true, tools } = props
  const [edited, edit] = useState<T | 'new'>()
  const resource = edited === 'new' ? undefined : edited
  const onClose = () => edit(undefined)
  const onSaved = async () => {
    onClose()
    await of.reload()
  }
  const buttons = mayEdit && (
    <>
      {form && (
        <Button isMain icon="add" onClick={() => edit('new')}>
          New {form.noun}
        </Button>
      )}
      {tools?.(edit)}
    </>
  )
  return (
    <>
      {(about || buttons) && (
        <div className="section-head">
          {about && <p>{about}</p>}
          {buttons && <div className="tools">{buttons}</div>}
        </div>
      )}
      <Await of={of}>{all => <ResourceList {...props} label={label} all={all} edit={edit} />}</Await>
      {form && edited !== undefined && (
        <ResourceDialog
          form={form}
          resource={resource}
          name={resource?.id ? props.row(resource, edit).name : ''}
          onClose={onClose}
          onSaved={onSaved}
        />
      )}
    </>
  )
}

function ResourceList<T extends { id: string }, V extends object>(
  props: ResourceSectionProps<T, V> & { all: readonly T[]; edit: (resource: T) => void },
) {
  const { of, all, label, empty, row, reorder, after, form, mayEdit = true, edit } = props
  const rows = all.map((resource, at) => ({ resource, at, ...row(resource, edit) }))
  const shown = useSearchedRows(rows)
  const move = (at: number, to: number) => async () => {
    const ids = all.map(({ id }) => id)
    of.set(await reorder!(ids.toSpliced(at, 1).toSpliced(to, 0, ids[at]!)))
  }
  return (
    <ul className="rows panel" aria-label={label}>
      {shown.map(({ resource, at, actions = [], remove, isEditable = true, ...content }) => {
        const changes: Array<MenuItem | false | undefined> = [
          form && mayEdit && isEditable && { label: 'Edit', run: () => edit(resource) },
          reorder && mayEdit && at > 0 && { label: 'Move up', run: move(at, at - 1) },
          reorder && mayEdit && at < all.length - 1 && { label: 'Move down', run: move(at, at + 1) },
          ...[...actions, remove && removalOf(content.name, remove)].map(action => action && itemOf(action, of.reload)),
        ]
        return (
          <Row key={resource.id} {...content} items={changes.filter(item => item !== false && item !== undefined)} />
        )
      })}
      {all.length === 0 && empty !== undefined && <li className="dim">{empty}</li>}
      {after}
    </ul>
  )
}

const removalOf = (
  name: string,
  { verb = 'Delete', title = `${verb} ${name}`, text, run }: Removal,
): ResourceAction => ({
  label: verb,
  isDanger: true,
  confirm: { title, text },
  run: async () => {
    await run()
    announce(`${title.replace(verb, pastTense[verb]).replace(/\?$/, '')}.`)
  },
})

const itemOf = ({ confirm: question, run, ...item }: ResourceAction, reload: () => Promise<void>): MenuItem => {
  const runAndReload = async () => {
    await run()
    await reload()
  }
  return question
    ? {
        ...item,
        label: `${item.label}…`,
        run: () => confirm({ submit: item.label, isDanger: item.isDanger ?? false, ...question, run: runAndReload }),
      }
    : { ...item, run: runAndReload }
}

function Row({
  name,
  title = name,
  badges = [],
  status,
  about,
  error,
  details,
  control,
  items,
}: ResourceRow & { items: readonly MenuItem[] }) {
  return (
    <li>
      <div className="what">
        <div className="head">
          <strong>{title}</strong>
          {badges.map(
            badge =>
              badge && (
                <span key={badge} className="label">
                  {badge}
                </span>
              ),
          )}
          {status}
        </div>
        {about && <div className="dim">{about}</div>}
        {error && <div className="error">{error}</div>}
      </div>
      {(control || items.length > 0) && (
        <div className="tools">
          {control}
          {items.length > 0 && <Menu label={`Actions for ${name}`} items={items} />}
        </div>
      )}
      {details && <div className="details">{details}</div>}
    </li>
  )
}

interface ResourceDialogProps<T, V extends object> {
  form: ResourceForm<T, V>
  resource: T | undefined
  /** The name of the resource. Empty for a new one. */
  name: string
  onClose: () => void
  onSaved: () => Promise<void>
}

/** The dialog that creates a resource, or edits it. */
export function ResourceDialog<T, V extends object>({
  form: { noun, initial, fields, save, isWide, editTitle },
  resource,
  name,
  onClose,
  onSaved,
}: ResourceDialogProps<T, V>) {
  const form = useFields(initial(resource))
  const isNew = name === ''
  return (
    <FormDialog
      title={isNew ? `New ${noun}` : (editTitle?.(resource!) ?? `Edit ${name}`)}
      kind={isWide ? 'wide' : undefined}
      submit={isNew ? 'Create' : 'Save'}
      onClose={onClose}
      onSubmit={async () => {
        await save(form.values, resource)
        await onSaved()
      }}
    >
      {fields(form, resource)}
    </FormDialog>
  )
}
