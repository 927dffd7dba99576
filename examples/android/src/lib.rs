#[cfg(target_os = "android")]
#[unsafe(no_mangle)]
fn android_main(app: android_activity::AndroidApp) {
    android_logger::init_once(android_logger::Config::default());
    let window = app.native_window().unwrap();
    let guard = window.lock(None).unwrap();
    drop(guard);
    let file = app.asset_manager().open(c"photo.png").unwrap();
    let _ = file.length();
    let image = cyanotype::Image::open("/x").unwrap();
    let g = cyanotype::Graph::parse("gamma 2").unwrap();
    cyanotype::Context::new().unwrap().compile(&g, &[("in", image.description())]).unwrap().run(&[("in", &image)]).unwrap();
}
