import { CSPProvider } from '@base-ui/react/csp-provider'
import { Select as BaseSelect } from '@base-ui/react/select'
import { Icon } from './Icon.tsx'

/** A value and the text that people see. */
export type Option<T extends string = string> = readonly [value: T, text: string]

export interface SelectProps<T extends string> {
  /** The accessible name. */
  label: string
  id?: string
  'aria-describedby'?: string
  'aria-invalid'?: true
  value: T
  options: readonly Option<T>[]
  disabled?: boolean
  onChange: (value: T) => void
}

/** A choice from a short list. In a narrow window, the list is at the bottom of the window. */
export function Select<T extends string>({ label, value, options, disabled, onChange, ...trigger }: SelectProps<T>) {
  return (
    // The style element would only hide scroll bars, and the policy of the page does not allow it.
    <CSPProvider disableStyleElements>
      <BaseSelect.Root
        items={options.map(([each, text]) => ({ value: each, label: text }))}
        value={value}
        disabled={disabled}
        onValueChange={next => onChange(next as T)}
      >
        <BaseSelect.Trigger className="select" aria-label={label} {...trigger}>
          <BaseSelect.Value className="chosen" />
          <Icon name="down" />
        </BaseSelect.Trigger>
        <BaseSelect.Portal role="region" aria-label={label}>
          <BaseSelect.Backdrop className="backdrop narrow-only" />
          <BaseSelect.Positioner className="sheet" sideOffset={4} collisionPadding={4} alignItemWithTrigger={false}>
            <BaseSelect.Popup className="menu" aria-label={label}>
              {options.map(([each, text]) => (
                <BaseSelect.Item key={each} value={each}>
                  <BaseSelect.ItemText>{text}</BaseSelect.ItemText>
                  <BaseSelect.ItemIndicator>
                    <Icon name="check" />
                  </BaseSelect.ItemIndicator>
                </BaseSelect.Item>
              ))}
            </BaseSelect.Popup>
          </BaseSelect.Positioner>
        </BaseSelect.Portal>
      </BaseSelect.Root>
    </CSPProvider>
  )
}
