from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0003_notes"),
    ]

    operations = [
        migrations.AddField(
            model_name="replay",
            name="on_divergence",
            field=models.CharField(choices=[("stop", "Stop"), ("go-on", "Go On")], default="stop", max_length=8),
        ),
    ]
