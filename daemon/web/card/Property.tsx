import { Popover } from '@base-ui/react/popover'
import { useRef, useState, type InputHTMLAttributes, type ReactNode } from 'react'
import { Button } from '../ui/Button.tsx'
import { Icon, type IconName } from '../ui/Icon.tsx'

/** A property of a card: how to show and change it. */
export interface Property {
  label: string
  icon: IconName
  /** Whether the property has a value. A property without a value is offered in a menu. */
  isSet: boolean
  /**
   * @param isNew whether the user has just chosen to set the property
   * @param onClose called after the list or field of the property has closed
   */
  render: (isNew: boolean, onClose?: () => void) => ReactNode
}

/** A line of the rail: the icon, the name and the value of a property. */
export const PropertyRow = ({ label, icon, children }: Pick<Property, 'label' | 'icon'> & { children: ReactNode }) => (
  <div className="property">
    <Icon name={icon} />
    <span className="dim">{label}</span>
    <div className="property-value">{children}</div>
  </div>
)

interface TypedValueProps {
  label: string
  input: InputHTMLAttributes<HTMLInputElement>
  /** The value as the input writes it. Empty for none. */
  saved: string
  /** The value as people read it. */
  shown: string | number | null
  hint?: string
  /** Values to choose with one click. */
  suggestions?: readonly (readonly [value: string, text: string])[]
  isNew: boolean
  disabled: boolean
  onSave: (text: string) => void
  onClose?: () => void
}

/**
 * A value that is typed in a popover. Enter and a click elsewhere save it, and Escape discards it. A partial value is
 * never saved.
 */
export function TypedValue(props: TypedValueProps) {
  const { label, input, saved, shown, hint, suggestions = [], isNew, disabled, onSave, onClose } = props
  const [isOpen, setOpen] = useState(isNew)
  const [text, setText] = useState(saved)
  const value = saved === '' ? 'None' : shown
  const field = useRef<HTMLInputElement>(null)
  const open = () => {
    setText(saved)
    setOpen(true)
  }
  const close = (next: string) => {
    setOpen(false)
    if (next !== saved) onSave(next)
  }
  const save = () => field.current!.checkValidity() && close(text)
  return (
    <Popover.Root
      open={isOpen}
      onOpenChange={(isNowOpen, { reason }) => {
        if (isNowOpen) open()
        else if (reason === 'escape-key' || !field.current?.checkValidity()) setOpen(false)
        else close(text)
      }}
      onOpenChangeComplete={isNowOpen => isNowOpen || onClose?.()}
    >
      <Popover.Trigger className="select" aria-label={`${label}: ${value}`} disabled={disabled}>
        <span className="chosen">{value}</span>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className="sheet" align="start" sideOffset={4} collisionPadding={4}>
          <Popover.Popup className="menu typed-value" aria-label={label} initialFocus={field}>
            <input
              {...input}
              ref={field}
              aria-label={label}
              autoComplete="off"
              value={text}
              onChange={({ target }) => setText(target.value)}
              onKeyDown={event => {
                // Chromium does not submit a form on Enter in a date.
                if (event.key === 'Enter') save()
              }}
            />
            {hint && <p className="hint">{hint}</p>}
            <div className="tools">
              {suggestions.map(([value, name]) => (
                <Button key={name} isPlain onClick={() => close(value)}>
                  {name}
                </Button>
              ))}
              {saved !== '' && (
                <Button isPlain onClick={() => close('')}>
                  Clear
                </Button>
              )}
            </div>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}
