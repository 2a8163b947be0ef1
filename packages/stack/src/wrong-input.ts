/** What was given cannot be used: a setting, a catalogue of models, a script. Nothing was begun; the message says what to change. */
export class WrongInput extends Error {
  override readonly name = "WrongInput";
}
