import { Combobox as BaseCombobox } from '@base-ui/react/combobox'
import { useState, type ReactNode } from 'react'
import { Icon } from './Icon.tsx'
import type { Option, SelectProps } from './Select.tsx'

/** The state that a picker passes to its list. */
export interface PickerState {
  /** The chosen values of a list of which several can be chosen. A list that is open at first then stays open after a choice. */
  marked?: readonly string[]
  /** The text of a button without a value. */
  children?: ReactNode
  /** Whether the list is open when the button appears. */
  isOpenAtFirst?: boolean
  /** Called after the list has closed. */
  onClose?: () => void
}

interface ComboboxProps<T extends string> extends Omit<SelectProps<T>, 'value' | 'options'>, PickerState {
  /** Undefined while the options load. */
  options: readonly Option<T>[] | undefined
  /** Undefined for a button that adds each chosen value. */
  value?: T
  /** The text below the search before anything is typed. */
  hint?: string
  maxLength?: number
  onOpen?: () => void
  /** Called for typed text. The options are then not filtered here. */
  onSearch?: (text: string) => void
  /** Offers the typed text as a new value. Returns the text of the option, or undefined if the text is not allowed. */
  newOption?: (text: T) => string | undefined
}

/** A choice from a long list with a search. A letter that is typed on the button starts the search. */
export function Combobox<T extends string>(props: ComboboxProps<T>) {
  const {
    label,
    value,
    options: offered,
    disabled,
    onChange,
    onSearch,
    onOpen,
    onClose,
    marked,
    isOpenAtFirst = false,
    newOption,
    children,
    hint,
    ...rest
  } = props
  const { maxLength, ...trigger } = rest
  const options = offered ?? []
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  const [text, setText] = useState('')
  const open = (isNowOpen: boolean) => {
    setOpen(isNowOpen)
    if (isNowOpen) onOpen?.()
  }
  const search = (typed: string) => {
    setText(typed)
    onSearch?.(typed)
  }
  const staysOpen = marked !== undefined && isOpenAtFirst
  const chosen = options.find(([each]) => each === value)
  const typed = text.trim() as T
  const added = typed !== '' && options.every(([each]) => each !== typed) ? newOption?.(typed) : undefined
  return (
    <BaseCombobox.Root<Item<T>>
      items={(added === undefined ? options : [...options, [typed, added] as const]).map(itemOf)}
      value={chosen ? itemOf(chosen) : null}
      isItemEqualToValue={(a, b) => a.value === b.value}
      filter={onSearch && null}
      autoHighlight
      disabled={disabled}
      open={isOpen}
      onOpenChange={(isNowOpen, { reason }) => (staysOpen && reason === 'item-press') || open(isNowOpen)}
      onOpenChangeComplete={isNowOpen => {
        if (isNowOpen) return
        search('')
        onClose?.()
      }}
      inputValue={text}
      onInputValueChange={(next, { reason }) => reason !== 'item-press' && search(next)}
      onValueChange={item => {
        if (!item) return
        if (staysOpen) search('')
        onChange(item.value)
      }}
    >
      <BaseCombobox.Trigger
        className="select"
        aria-label={label}
        {...trigger}
        onKeyDown={event => {
          if (isOpen || event.key.length > 1 || event.key === ' ' || event.ctrlKey || event.metaKey) return
          // Otherwise, the letter would choose a value at once.
          event.preventBaseUIHandler()
          event.preventDefault()
          open(true)
          search(event.key)
        }}
      >
        <span className="chosen">{children ?? chosen?.[1]}</span>
        <Icon name="down" />
      </BaseCombobox.Trigger>
      <List label={label} marked={marked} maxLength={maxLength} empty={typed === '' ? hint : offered && 'No results'} />
    </BaseCombobox.Root>
  )
}

interface ListProps {
  label: string
  marked: readonly string[] | undefined
  maxLength: number | undefined
  /** The text of an empty list. */
  empty: string | undefined
}

/** The search and the options below it. */
function List({ label, marked, maxLength, empty }: ListProps) {
  return (
    <BaseCombobox.Portal>
      <BaseCombobox.Backdrop className="backdrop narrow-only" />
      <BaseCombobox.Positioner className="sheet" align="start" sideOffset={4} collisionPadding={4}>
        <BaseCombobox.Popup className="menu searched" aria-label={label}>
          <BaseCombobox.Input
            aria-label={`Search: ${label}`}
            placeholder="Search"
            autoComplete="off"
            maxLength={maxLength}
          />
          <BaseCombobox.Empty className="hint">{empty}</BaseCombobox.Empty>
          <BaseCombobox.List aria-label={label}>
            {(item: Item) => (
              <BaseCombobox.Item
                key={item.value}
                value={item}
                {...(marked && { 'aria-selected': marked.includes(item.value) })}
              >
                {item.label}
                {marked?.includes(item.value) ? (
                  <Icon name="check" />
                ) : (
                  <BaseCombobox.ItemIndicator>
                    <Icon name="check" />
                  </BaseCombobox.ItemIndicator>
                )}
              </BaseCombobox.Item>
            )}
          </BaseCombobox.List>
        </BaseCombobox.Popup>
      </BaseCombobox.Positioner>
    </BaseCombobox.Portal>
  )
}

// An array would be several values.
interface Item<T extends string = string> {
  value: T
  label: string
}

const itemOf = <T extends string>([value, label]: Option<T>): Item<T> => ({ value, label })
